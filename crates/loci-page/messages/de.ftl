skip = Zum Inhalt
views = Ansichten
tab-home = Start
tab-search = Suche
tab-browse = Stöbern
sign-in = Anmelden
continue-as = Weiter als { $value }
continue-why = Dieser Link meldet Sie an. Gehen Sie nur weiter, wenn Sie ihn selbst angefordert haben, zum Beispiel mit „loci page“.
sign-in-code-used = Dieser Link wurde schon benutzt oder ist älter als eine Minute. Rufen Sie „loci page“ noch einmal auf, oder melden Sie sich mit einem Token an.
sign-in-at = Bei { $value } anmelden
sign-in-attempt-unknown = Diese Anmeldung wurde nicht in diesem Browser begonnen oder ist älter als zehn Minuten. Beginnen Sie noch einmal.
sign-in-denied = Dem Anbieter wurde verwehrt, loci zu sagen, wer Sie sind. Beginnen Sie noch einmal, um das zu ändern.
sign-in-refused = Der Anbieter hat Sie nicht angemeldet. Beginnen Sie noch einmal; hilft das nicht, bitten Sie den Betreiber dieses Servers, den Client beim Anbieter mit den Einstellungen unter „oidc“ zu vergleichen.
sign-in-token-refused = Der Anbieter hat Sie angemeldet, aber dieser Server nimmt das Token nicht an, das er gab: { $value }
signed-in = Angemeldet
go-on = Weiter
consent = { $value } hereinlassen?
consent-host = { $value } bittet um Zugang zu diesem Gedächtnis. Die Antwort geht dorthin.
consent-device = Ein Programm auf dem Gerät vor Ihnen bittet um Zugang zu diesem Gedächtnis. Die Antwort geht an { $value }.
consent-name = Es nennt sich „{ $value }“, was niemand geprüft hat.
consent-document = Was es von sich sagt, steht bei { $value }.
consent-as = Es wird als { $value } handeln und darf:
consent-read = lesen, was Sie lesen dürfen
consent-write = in Ihrem Namen Erinnerungen ablegen, ändern und vergessen
consent-where = Das darf es bei { $value }, bis Sie es widerrufen: „loci token list“ und die Seite nennen es.
consent-only = Erlauben Sie es nur, wenn Sie selbst dort und gerade eben darum gebeten haben.
consent-allow = Erlauben
consent-deny = Nicht erlauben
consent-refused = Der Client, der Sie hierher geschickt hat, kann nicht hereingelassen werden: { $value }
sign-out = Abmelden
token = Token
outcome = Ergebnis der letzten Änderung
undo = Rückgängig
refused = { $count ->
    [one] Eine Erinnerung wurde nicht geändert
   *[other] { $count } Erinnerungen wurden nicht geändert
}
error-title = Etwas ging schief
error-home = Start
global = Kein Projekt
pinned = angeheftet
shared = für Ihr Team sichtbar
forgotten = vergessen
replaced = ersetzt
via = { $value ->
    [loci] importiert
   *[other] Werkzeugsatz { $value }
}
by-app = von { $value }
when = Wann
tool = Werkzeug
question = Frage
results = Treffer
filed-last = Neu
filed-none = Noch ist nichts da. Verbinden Sie eine App, um anzufangen.
clients = Verbundene Apps
client-unnamed = App ohne Namen
wing = Projekt
room = Thema
type = Art
types = Arten
tag = Schlagwort
tags = Schlagwörter
from = Nach dem
until = Vor dem
all = alle
search = Suchen
why = Warum findet eine Frage sie nicht?
rank = { $count }.
dialect = Werkzeugsatz
budget = Grenze der Antwort (Tokens)
arguments = Argumente
reply-tokens = { $count ->
    [one] Die Antwort hat 1 Token
   *[other] Die Antwort hat { $count } Tokens
}
reply-failed = Der Aufruf schlug fehl. Der Agent sieht diesen Fehler:
count-memories = { $count ->
    [one] 1 Erinnerung
   *[other] { $count } Erinnerungen
}
memories = Erinnerungen
tunnels = Tunnel
all-memories = Alle Erinnerungen
what-is-deleted = Gelöschte Nachrichten
what-is-deleted-hint = Ein Agent hat sie gelöscht. Sie lassen sich zurückholen, bis sie endgültig entfernt werden.
select = Auswählen: { $value }
select-all = Alle auf dieser Seite auswählen
move = Verschieben
tags-add = Hinzufügen (mit Kommas dazwischen)
tags-remove = Entfernen (mit Kommas dazwischen)
tags-change = Schlagwörter ändern
share = Teilen
unshare = Nicht mehr teilen
forget = Vergessen
unforget = Zurückholen
delete = Endgültig löschen
pages = Seiten
previous = Vorige Seite
next = Nächste Seite
text = Text
summary = Zusammenfassung:
change = Ändern
edit = Text bearbeiten
save = Speichern
pin = An jede Sitzung heften
unpin = Ablösen
origin = Quelle
memory-one = Erinnerung
as-stored = Wie gespeichert
copy-text = Kopieren
copy-this = Kopieren: { $value }
edit-refused = Jemand hat diese Erinnerung geändert, nachdem Sie sie geöffnet haben
edit-refused-how = Ihr Text ist nicht gespeichert. Vergleichen Sie beide und speichern Sie Ihren, oder behalten Sie den anderen.
edit-theirs = Text jetzt
edit-yours = Ihr Text
edit-save-yours = Meinen Text speichern
edit-keep-theirs = Den anderen behalten
restore-version = Diese Fassung wiederherstellen
origin-by = { $value } speicherte dies
origin-through = { $value ->
    [loci] Importiert
   *[other] Gespeichert mit dem Werkzeugsatz { $value }
}
said-user = vom Benutzer gesagt
said-agent = von einem Agenten gesagt
said-unknown = nicht bekannt, wer es sagte
said-import = aus einem anderen Gedächtnissystem
said-file = aus einer Datei
said-tool = aus der Ausgabe eines Werkzeugs
said-web = aus dem Web
origin-for = für { $value }
origin-on = am
origin-from = aus
origin-in = in
may-see = Wer sie sehen darf
may-see-private = nur Sie
may-see-shared = Ihr Team
may-see-common = alle in diesem Raum
session = Sitzung
details = Einzelheiten
used-last-days = { $count ->
    [one] Einmal in den letzten 30 Tagen genutzt
   *[other] { $count }-mal in den letzten 30 Tagen genutzt
}
id = Id
writer = Verfasser
changed = Zuletzt geändert
revision = Stand { $count }
last-on = zuletzt am
file = Datei
thread = Gespräch oder Datei
expires = Läuft ab
sources = Quellen
links = Verweise
replaces = Ersetzt
stands-behind = Suchen zeigen an ihrer Stelle
stands-for = Suchen zeigen sie an der Stelle von
stands-for-about = Sie sagen nicht mehr als diese und bleiben, wie sie sind. `loci undo` macht sie wieder sichtbar.
summaries-of-these = Zusammenfassung durch ein Sprachmodell
replaced-by = Sie ist ersetzt durch
calls = Benutzt in
done-edited = Der Text wurde geändert.
all-users = Was andere für sich behalten
all-users-why = Sie sehen, was jeder Benutzer sähe. Sie können in dieser Sitzung alles ansehen; das Protokoll hält das fest.
all-users-show = Alles zeigen
all-users-on = Sie sehen, was andere für sich behalten.
all-users-hide = Ausblenden
done-all-users = Diese Sitzung zeigt jetzt alles.
done-own-view = Diese Sitzung zeigt, was jeder Benutzer sieht.
done-pinned = Jede Sitzung beginnt nun damit.
done-unpinned = Nur noch Suchen finden sie.
done-moved = { $count ->
    [0] Wählen Sie zuerst etwas aus.
    [one] 1 Erinnerung verschoben
   *[other] { $count } Erinnerungen verschoben
}
done-tagged = { $count ->
    [0] Wählen Sie zuerst etwas aus.
    [one] Schlagwörter von 1 Erinnerung geändert
   *[other] Schlagwörter von { $count } Erinnerungen geändert
}
done-shared = { $count ->
    [0] Wählen Sie zuerst etwas aus.
    [one] 1 Erinnerung geteilt
   *[other] { $count } Erinnerungen geteilt
}
done-unshared = { $count ->
    [0] Wählen Sie zuerst etwas aus.
    [one] 1 Erinnerung ist nun privat
   *[other] { $count } Erinnerungen sind nun privat
}
done-forgotten = { $count ->
    [0] Wählen Sie zuerst etwas aus.
    [one] 1 Erinnerung vergessen
   *[other] { $count } Erinnerungen vergessen
}
done-unforgotten = { $count ->
    [0] Wählen Sie zuerst etwas aus.
    [one] 1 Erinnerung zurückgeholt
   *[other] { $count } Erinnerungen zurückgeholt
}
done-deleted = { $count ->
    [0] Wählen Sie zuerst etwas aus.
    [one] 1 Erinnerung endgültig gelöscht
   *[other] { $count } Erinnerungen endgültig gelöscht
}
done-undone = Rückgängig gemacht
settings-parts = Teile der Einstellungen
settings-hosts = Apps
settings-data = Daten
settings-access = Zugang
settings-model = Suchmodell
settings-all = Alle Einstellungen
settings-about = Über loci
host-connected = Verbunden mit den Werkzeugen { $value }.
host-hooks = Seine Hooks rufen loci auf.
host-not-connected = Nicht verbunden.
hosts-found = Auf diesem Rechner gefunden und nicht verbunden
hosts-other = Andere Apps
hosts-other-how = Jede App, die MCP spricht, kann loci nutzen. Dies gibt aus, was in dessen Einstellungen gehört:
storage = Speicher
storage-free = { $value } sind frei
storage-database = Texte und Vektoren
storage-index = Index
storage-notes = Notizen
storage-backups = Sicherungen
storage-models = Modelle
storage-other = andere Dateien
running = Das dauert einen Augenblick.
backup-schedule = Eine Sicherung jede Nacht, als Zeile für „crontab -e“:
token-last-used = Letzter Aufruf
token-unused = nicht in 90 Tagen
token-last-used-how = Letzte Aufrufe sind die der Person, mit irgendeinem Token.
model-in-use = Suche: Wörter und Bedeutung, mit dem Modell { $value }.
model-none = Suche: nur Wörter.
text-language = Sprache
language-texts = Texte
language-known = Das Modell kennt sie
language-how = Das sind die Texte einer Stichprobe des Bestands, deren Sprache erkannt wurde.
settings-filter = Text im Namen
settings-changed = Geändert
settings-none = Keine Einstellung ist geändert.
settings-unset = { $count ->
    [one] Eine Einstellung hat ihren Standard
   *[other] { $count } Einstellungen haben ihren Standard
}
setting-how = Ändern durch
verdict-ok = Gut
verdict-warn = Ansehen
verdict-fail = Kaputt
outside = Was diesen Rechner verlässt
outside-nothing = Nichts: Keine Einstellung nennt einen Dienst auf einem anderen Rechner.
outside-how = Etwas kann an diese Dienste gehen, die Einstellungen nennen:
schema-version = Version der Tabellen
sent = Anfragen an andere Rechner in den letzten 30 Tagen
sent-host = Rechner
sent-purpose = Wofür
sent-requests = Anfragen
sent-last-day = Letzter Tag
sent-nothing = In den letzten 30 Tagen hat nichts diesen Rechner verlassen.
sent-embedding = Texte und Fragen, um sie nach Bedeutung zu finden
sent-llm = Texte, für ein Sprachmodell
sent-web-search = Fragen, für eine Websuche
sent-otlp = Dauern von Aufrufen, ohne Texte
sent-oidc = Anmeldungen
sent-oauth = Beschreibungen von Apps, die sich anmelden
sent-model = Heruntergeladene Suchmodelle
sent-other = Andere Anfragen
tab-settings = Einstellungen
ran = Erledigt
ran-failed = Etwas ging schief
hosts-here = Verbundene Apps
hosts-none = Keine App ist verbunden, und auf diesem Rechner ist keine zu finden.
host = App
last-call = Letzter Aufruf
yes = ja
no = nein
never = nie
connect = Verbinden
disconnect = Trennen
check = Prüfen
backup = Sicherung
back-up-now = Jetzt sichern
restore = Zurückspielen
restore-how = Ein laufender Server behält seinen Speicher; darum wird eine Sicherung in einen neuen Ordner gespielt: Sie wird ganz geprüft, und Sie können ansehen, was darin ist, bevor Sie entscheiden.
restore-now = Eine Kopie dieser Sicherung öffnen
restore-this = Eine Kopie dieser Sicherung öffnen: { $value }
restored = Die Sicherung wurde zurückgespielt
restored-folder = Hier hat sich nichts geändert. Sie ist im Ordner
restored-look = Neben diesem Server ansehen
restored-replace = An die Stelle des Datenordners setzen
restored-replace-how = Beenden Sie zuerst jedes loci auf diesem Datenordner; was dort ist, kommt in den Ordner der Sicherungen.
size = Größe
import = Einlesen
import-how = Ein Export von loci, Erinnerungen als JSON-Zeilen oder als Liste, der Speicher oder Export eines anderen Gedächtnissystems, oder ein Zip-Archiv davon, höchstens { $value }. Zuerst sehen Sie, was gespeichert würde.
import-system = Gedächtnissystem
import-system-told = am Inhalt erkennen
import-zone = Zeitzone für Zeiten ohne Zone
import-from = Das ist von { $value }.
import-updated = durch einen späteren Text ersetzt
import-tunnels = Verbindungen zwischen Orten
import-left-out = ausgelassen: { $value }
import-samples = Die ersten Erinnerungen
import-batch = Dieser Import ist { $value }. „loci undo“ nimmt ihn auch später zurück.
import-undo = Diesen Import zurücknehmen
import-try = Vorschau des Imports
import-tried = Das würde eingelesen
import-ran = Die Datei wurde eingelesen
import-records = Einträge
count = Anzahl
import-would-be-stored = würden gespeichert
import-stored = gespeichert
import-present = schon da; sie bleiben, wie sie sind
import-refused = abgelehnt
import-forgotten = bleiben vergessen; `loci unforget` und `loci import --again` holen sie zurück
import-would-stay-forgotten = wurden hier vergessen und bleiben es
import-again = Auch einlesen, was hier vergessen wurde ({ $value })
import-note-files = Dateien von Notizen
import-confirm = Noch ist nichts gespeichert. Die Datei wird nach dem Einlesen entfernt, oder wenn die nächste kommt.
import-now = Einlesen
import-discard = Datei verwerfen
done-upload-discarded = Die Datei wurde entfernt, und nichts wurde gespeichert.
export = Export
export-how = Alles, was gemerkt ist, von allen Benutzern, als Text (JSON-Zeilen). Die Seite oder „loci import“ liest es wieder ein. Bewahren Sie die Datei dort auf, wo nur Sie sie lesen können.
export-now = Export herunterladen
examine = Prüfung
examine-now = Alles prüfen
tokens = Tokens
space = Bereich
scopes = Rechte
made = Gemacht
over = abgelaufen
revoke = Widerrufen
make-token = Token machen
token-subject = Person
settings = Einstellungen
setting = Einstellung
value = Wert
value-origin = Gesetzt durch
tab-activity = Aktivität
recalls-count = Fragen
recalls-empty = Nichts gefunden
recalls-reply-tokens = Tokens in Antworten
recalls-hook-tokens = Tokens, die Hooks hinzufügten
recalls-none = Noch hat keine App etwas gefragt.
recalls-nothing = nichts kam zurück
recalls-weak = nur entfernt verwandt
recalls-gone = (gelöscht, oder nicht für Sie)
recalls-more = { $count ->
    [one] und eine weitere
   *[other] und { $count } weitere
}
count-tokens = { $count ->
    [one] 1 Token
   *[other] { $count } Tokens
}
recalls-older = Ältere
older = Älter
program = App
tab-facts = Fakten
time-how = Was über eine Sache bekannt ist und für welche Zeit es gilt. Tage sind in UTC angegeben.
entity = Sache
entities = Sachen
as-of-day = Datum
facts-known = Stand vom
facts-known-shown = Stand: { $value }.
facts-known-now = Stand von heute
show = Zeigen
facts-none = Es sind noch keine Fakten vermerkt.
facts-none-of-it = Über diese Sache ist nichts vermerkt.
lanes = Zeitachse
lanes-how = Eine Bahn je Beziehung, mit einem Balken je Fakt über den Tagen, an denen er gilt; Pfeile sind offene Enden. Die Tabelle darunter sagt dasselbe.
leads-to = Verwandt
today = heute
play = Abspielen
facts-other = Gilt dann nicht
fact-rival = zur selben Zeit: { $value }
lanes-lasting = { $count ->
    [one] Eine Beziehung, die sich nie änderte
   *[other] { $count } Beziehungen, die sich nie änderten
}
around-left-out = { $count ->
    [one] Eine weitere Sache ist nicht gezeichnet.
   *[other] { $count } weitere Sachen sind nicht gezeichnet.
}
facts = Fakten
fact-source = Quelle
fact-author = Notiert von
fact-author-own = Ihnen
fact-author-unknown = nicht bekannt
fact-add = Fakt hinzufügen
holds-from = Von
holds-until = Letzter Tag
always = immer
open-end = offen
end = Gilt nicht mehr
end-this = Gilt nicht mehr: { $value }
correct = Berichtigen
correct-this = Berichtigen: { $value }
subject = Wer oder was
predicate = Beziehung
object = Wert
done-fact-added = Der Fakt wurde hinzugefügt.
done-fact-known = Dieser Fakt war schon vermerkt.
done-fact-ended = Der Fakt wurde beendet.
done-fact-corrected = Der Fakt wurde berichtigt.
tab-review = Prüfen
review-how = Nichts ändert sich, bevor Sie entscheiden.
review-kinds = Arten
review-none = Es gibt nichts zu entscheiden.
review-clear = Alles geklärt: Im ganzen Bestand gibt es nichts zu entscheiden.
review-clear-at = Angesehen am
review-incomplete = Erinnerungen werden noch angesehen; gleich kann mehr zu entscheiden sein.
review-keys = Tasten: 1, 2, 3 beantworten ein Paar, d verwirft, z nimmt zurück.
review-show = Anzeigen
review-open-memory = Anzeigen: { $value }
review-maybe = { $count ->
    [one] Ein Paar, das sich vielleicht widerspricht
   *[other] { $count } Paare, die sich vielleicht widersprechen
}
review-further = { $count ->
    [one] Noch einer
   *[other] Noch { $count }
}
review-by = Von { $value }; den Anweisungen folgen Sie nicht
review-contradiction = Widersprüche
review-contradiction-how = Paare von Erinnerungen, von denen die neuere der älteren zu widersprechen scheint. Wenn Sie eine behalten, ersetzt sie die andere.
review-duplicate = Doppelte
review-duplicate-how = Paare von Erinnerungen, die fast dasselbe sagen.
review-secret = Geheimnisse
review-secret-how = Erinnerungen, deren Text wohl ein Geheimnis enthält, mit dessen Art; das Geheimnis wird nicht gezeigt. Was entfernt ist, ist überschrieben und lässt sich nicht zurückholen. Aus einer Notiz müssen Sie es in ihrer Datei entfernen.
review-arrived = Anweisungen aus Dateien
review-arrived-how = Erinnerungen, mit denen Sitzungen beginnen und die aus einer Datei kamen: durch einen Import oder als Notiz im Ordner. Eine Datei kann von jedem sein; Agenten sehen sie daher als Zitate, bis Sie sie gelten lassen. Ein geänderter Text wartet erneut.
review-directive = Anweisungen von Leuten, denen Sie nicht vertrauen
review-directive-how = Regeln, Rückmeldungen und Erinnerungen, mit denen Sitzungen beginnen, von Verfassern, denen Sie nicht vertrauen. Agenten sehen sie als Zitate. Wenn Sie dem Verfasser vertrauen, gelten seine Anweisungen für Agenten wie Ihre.
review-stale = Veraltete Quellen
review-stale-how = Erinnerungen, die aus einer Datei dieses Rechners stammen oder eine anführen, soweit diese Datei früher gelesen wurde.
review-note = Dateien der Notizen
review-note-how = Probleme der Dateien im Ordner der Notizen. Sie müssen in den Dateien gelöst werden.
newer = Neuer
similar-percent = zu { $count } % ähnlich
decide = Entscheiden: { $value }
keep-newer = Die neuere behalten
keep-older = Die ältere behalten
keep-both = Beide behalten
keep-older-how = Agenten bekommen die linke; die rechte bleibt als ersetzt erhalten.
keep-newer-how = Agenten bekommen die rechte; die linke bleibt als ersetzt erhalten.
keep-both-how = Agenten bekommen beide, und dieses Paar kommt nicht wieder.
redact-how = Das Geheimnis wird im Text überschrieben. Das lässt sich nicht rückgängig machen.
accept-how = Agenten befolgen es von nun an.
trust-how = Für Agenten gelten alle Anweisungen dieses Verfassers wie Ihre.
forget-how = Agenten bekommen sie nicht mehr. Sie können sie wiederherstellen.
dismiss-how = Nichts ändert sich, und dies kommt nicht wieder.
redact = Geheimnisse entfernen
accept = Für Agenten gelten lassen
accept-all = { $count ->
    [one] Diese für Agenten gelten lassen
   *[other] Alle { $count } für Agenten gelten lassen
}
trust = Dem Verfasser vertrauen
dismiss = Verwerfen
file-missing = Die Datei ist nicht mehr da
file-ignored = Die Datei ist durch eine Regel der Versionsverwaltung ausgeschlossen
file-changed = Die Datei hat sich geändert
file-too-large = Die Datei ist zu groß
file-not-text = Die Datei ist kein Text
file-not-a-file = Das ist keine gewöhnliche Datei
file-unreadable = Die Datei kann nicht gelesen werden
file-broken-frontmatter = Der Kopf der Datei ist fehlerhaft
file-duplicate-uid = Eine andere Notiz hat dieselbe Kennung
file-conflict-copy = Konfliktkopie
file-possible-conflict = Möglicher Konflikt
file-conflict-marks = Konflikt einer Zusammenführung
file-ambiguous-alias = Eine andere Notiz hat denselben Alias
file-emptied = Die Datei wurde leer
done-superseded = Die behaltene Erinnerung ersetzt nun die andere.
done-kept-one = Eine Erinnerung wurde behalten, die andere vergessen.
done-redacted = Die Geheimnisse wurden aus der Erinnerung entfernt.
done-accepted = Agenten folgen diesen Erinnerungen nun.
done-trusted = Agenten folgen den Anweisungen dieses Verfassers nun wie Ihren.
done-dismissed = Der Eintrag wurde verworfen.
former-texts = Frühere Fassungen
count-entities = { $count ->
    [0] Keine Sache
    [one] 1 Sache
   *[other] { $count } Sachen
}
entities-text = Text im Namen
entities-all = Alle Sachen, mit den Zahlen ihrer Fakten
entities-cut = Es gibt mehr als diese { $count } Sachen, mit weniger Fakten. Ein Text im Namen findet sie.
facts-current = Geltende Fakten
facts-past = Vergangene Fakten
review-order = Verdächtige Anweisungen
review-order-how = Texte, die keine Anweisungen sind und einen Satz enthalten, der Agenten Befehle gibt. Listen von Mustern in elf Sprachen finden nur die üblichen, im Klartext oder verborgen. Hooks und Sitzungsanfänge legen sie keinem Agenten vor, bis Sie sie hier verwerfen: dann dürfen sie es.
review-read-hidden = In unsichtbaren Zeichen, gelesen als
review-read-look-alikes = In Buchstaben, die anderen ähneln, gelesen als
review-read-spacing = Mit getrennten Buchstaben oder verbundenen Wörtern, gelesen als
review-read-encoding = In einer Kodierung, gelesen als
review-open = { $count ->
    [one] einmal zu entscheiden
   *[other] { $count } zu entscheiden
}
secret-hidden = Geheimnis verdeckt
reveal = Aufdecken
done-revealed = Der Text steht unten. Im Prüfprotokoll steht, wer ihn angesehen hat.
recalls-useful = Mit Ergebnis
recalls-failed = Fehlgeschlagen
recalls-last = Letzte Aufrufe
calls-failed = Fehlgeschlagene Aufrufe
calendar-stored = Abgelegt
calendar-recalled = Abgerufen
clients-other = Andere Apps
chart-recalls = Abrufe je Tag
chart-calendar = Abgelegt und abgerufen, letzte 26 Wochen
chart-table = Als Tabelle
chart-empty = Nichts in diesem Zeitraum.
day = Tag
range = Zeitraum
range-is = Zahlen für { $value }
tool-times = Wie lange Aufrufe dauerten
recalls-weak-count = Nur lose verwandt
session-tokens = Token, die Agenten in einer Sitzung bekamen
session-tokens-how = Ein Balken ist der Mittelwert der Sitzungen eines Programms; seine zwei Striche sind der Median und das 90. Perzentil.
session-start = zu Beginn
session-prompt = bei Eingaben
session-reply = in Antworten
sessions = Sitzungen
median = Median
of-last-calls = { $count ->
    [one] der letzte Aufruf des Zeitraums
   *[other] die letzten { $count } Aufrufe des Zeitraums
}
questions-open = Fragen mit schwacher oder ohne Antwort
asked-times = Gefragt
failures-by-code = Fehler nach Code
failure-code = Code
calls-count = Aufrufe
range-days = { $count ->
    [one] Heute
   *[other] { $count } Tage
}
chart-sum = Summe
certainty-sure = sicher
certainty-likely = wahrscheinlich
certainty-maybe = vielleicht ein Widerspruch
next-session = Nächste Sitzung
next-session-how = Womit eine Sitzung einer gewählten Anwendung und eines Projekts beginnt, Byte für Byte, und was Hooks bei einer Eingabe hinzufügen. Was Sie hier ändern, ändert die nächste Sitzung.
next-session-any-host = Jede Anwendung
next-session-project = Projekt (leer: was überall gilt)
next-session-begins = Sie beginnt mit
next-session-empty = Noch wird keine Erinnerung am Anfang einer Sitzung gelesen. Fügen Sie unten eine hinzu.
next-session-text = Der Text
next-session-command = Der Befehl { $value } gibt dasselbe aus.
next-session-hook = Was der Hook dieser Anwendung am Anfang hinzufügt
next-session-no-hook = Die Hooks dieser Anwendung rufen loci nicht auf und fügen nichts hinzu.
next-session-add = Eine Erinnerung hinzufügen
next-session-add-now = Sitzungen damit beginnen
next-session-prompt = Was Hooks bei einer Eingabe hinzufügen
next-session-prompt-text = Eine Eingabe, wie Sie sie tippen würden
next-session-nothing = Nichts: keine Erinnerung hilft wahrscheinlich bei dieser Eingabe.
move-up = Nach oben
move-down = Nach unten
move-up-this = Nach oben: { $value }
move-down-this = Nach unten: { $value }
unpin-this = Ablösen: { $value }
done-reordered = Die Reihenfolge wurde geändert. Die nächste Sitzung beginnt in ihr.
person-remove = Eine Person entfernen
person-how = Entfernt endgültig, was von einer Person bekannt ist: Erinnerungen, Einstellungen, Aufrufe, Token. Zuerst wird gezählt; nichts geht, bevor Sie den Namen tippen.
person-name = Name, wie ihn Token und Einträge haben
person-count = Zählen
person-goes = Was mit { $value } geht
person-nothing = Von diesem Namen gibt es nichts.
person-stays = Was bleibt
person-type = Tippen Sie { $value }, um endgültig zu entfernen
person-remove-now = Endgültig entfernen
person-receipt = Quittung
person-removed = Alles von { $value } wurde entfernt.
person-another = Eine weitere Person entfernen
person-memories = Erinnerungen und Nachrichten
person-tunnels = Verbindungen zwischen Räumen
person-answers = Zwischengespeicherte Antworten
person-decisions = Entscheidungen
person-settings = Einstellungen
person-calls = Aufrufe im Protokoll
person-tokens = Token
person-trusted-by = Listen vertrauter Autoren
person-named-in = Einstellungen der Installation mit dem Namen, die Sie selbst ändern: { $value }
operations = Die JSON-Schnittstelle
operations-how = Jede Operation mit ihren Parametern. Senden Sie ein Token als Authorization: Bearer TOKEN. Für Programme:
operations-no-parameters = Keine Parameter.
deprecated = veraltet
parameter = Parameter
meaning = Bedeutung
example = Beispiel
next-session-tokens = { $count ->
    [one] 1 Token
   *[other] { $count } Token
}
person-unnamed = { $count ->
    [one] Eine Erinnerung, Verbindung oder Tatsache für alle bleibt, ohne den Namen.
   *[other] { $count } Erinnerungen, Verbindungen und Tatsachen für alle bleiben, ohne den Namen.
}
person-mentions = { $count ->
    [one] Eine Erinnerung von jemand anderem hat den Namen im Text. Suchen Sie danach.
   *[other] { $count } Erinnerungen anderer haben den Namen im Text. Suchen Sie danach.
}
person-backups = { $count ->
    [one] Eine Sicherung bleibt, wie sie ist, und kann alles davon haben.
   *[other] { $count } Sicherungen bleiben, wie sie sind, und können alles davon haben.
}
language-name = Deutsch
views-small = Hauptansichten
more = Mehr
menu = Sie und das Aussehen
search-memories = Erinnerungen suchen
theme = Farben
theme-system = System
theme-light = Hell
theme-dark = Dunkel
language = Sprache
language-system = Browser
density = Zeilen
density-roomy = Weit
density-dense = Eng
person = Person
visibility-private = Nur Sie
visibility-shared = Für Ihr Team sichtbar
visibility-common = Alle in diesem Bereich
number = { $count }
copy = Kopieren
ago-now = gerade eben
ago-minutes = vor { $count } min
ago-hours = { $count ->
    [one] vor 1 Stunde
   *[other] vor { $count } Stunden
}
ago-yesterday = gestern
ago-days = vor { $count } Tagen
state-fine = Alles in Ordnung.
state-fine-apps = { $count ->
    [one] Alles in Ordnung. 1 App ist verbunden.
   *[other] Alles in Ordnung. { $count } Apps sind verbunden.
}
state-backup = Letzte Sicherung
state-no-backup = Noch keine Sicherung.
state-old-backup = Letzte Sicherung
state-model = Die Suche nach Bedeutung geht nicht; Wörter finden weiterhin alles.
state-app = Die Verbindung von { $value } ist gestört.
state-reading = { $count ->
    [one] 1 Text wird noch gelesen; bis dahin finden ihn Wörter.
   *[other] { $count } Texte werden noch gelesen; bis dahin finden sie Wörter.
}
state-minutes = (etwa { $count } min)
state-read = Gelesen
backing-up = Sicherung läuft …
done-backed-up = Gesichert
steps = Erste Schritte
step-done = erledigt
step-open = offen
step-connect = Verbinden Sie eine App
step-connect-how = Oder rufen Sie das in einem Terminal auf; mit einem Namen wie codex verbindet es nur diese App:
connect-this = { $value } verbinden
step-store = Lassen Sie Ihren Agenten sich etwas merken
step-store-say = Merke dir, dass unser Testserver 10.0.4.21 ist
step-recall = Fragen Sie in einer neuen Sitzung danach
step-recall-say = Welche Adresse hat unser Testserver?
bring = Oder bringen Sie mit, was Sie haben
bring-file = Eine Datei importieren:
bring-project = Ein Projekt einlesen:
bring-transcripts = Gespräche einlesen:
tile-week = +{ $count } in dieser Woche
tile-recalls = Abrufe heute
tile-useful = { $count } % mit Ergebnis
tile-today-none = heute noch keine
tile-tokens = Tokens je Sitzung
tile-tokens-all = Tokens
tile-most = die meisten von { $value }
tile-review = Zu prüfen
tile-review-none = Alles geklärt
tile-review-how = warten auf Sie
chart-growth-90 = In den letzten 90 Tagen gespeichert, aufsummiert
chart-recalls-90 = Abrufe je Tag, letzte 90 Tage
plot-highest = höchstens { $count }
new-since = { $count ->
    [one] 1 neue Erinnerung
   *[other] { $count } neue Erinnerungen
}
new-since-when = Neu seit Ihrem letzten Besuch,
new-none = Nichts Neues seit Ihrem letzten Besuch,
new-further = { $count ->
    [one] 1 weitere
   *[other] { $count } weitere
}
group-further = { $count } weitere in
session-of = Sitzung von
in-place = in
in-none = keinem Projekt
app-command = Kommandozeile
app-broken = gestört
app-quiet = noch kein Aufruf
sign-in-here = Auf diesem Rechner öffnet das die Seite, in einem Terminal aufgerufen:
sign-in-elsewhere = Von anderswo fügen Sie ein Token ein
sign-in-where = Woher bekomme ich eines?
sign-in-where-how = Wer den Server betreibt, macht eines für Sie mit
sign-in-token-wrong = Dieses Token gilt nicht. Machen Sie eines mit „loci token create“.
error-memory = Diese Erinnerung ist nicht da. Vielleicht wurde sie gelöscht. Suchen Sie nach ihrem Text.
error-path = An dieser Adresse ist nichts.
error-near = Meinten Sie
error-search = Suchen
keys = Tasten
key-rows = Nächste Zeile, Zeile davor
key-select = Zeile auswählen
key-open = Zeile öffnen
close = Schließen
palette = Gehe zu
palette-how = Ein Ort oder eine Erinnerung
model-read = Jede Erinnerung wird auch über ihre Bedeutung gefunden.
data-folder = Datenordner
data-server = Datenbank
facts-true = { $count ->
    [one] Fakt gilt am
   *[other] Fakten gelten am
}
history = Verlauf
history-how = Die letzten 20 Änderungen dieser Sitzung. Was sich zurücknehmen lässt, hat eine Taste.
history-none = In dieser Sitzung haben Sie nichts geändert.
copied = Kopiert
key-edit = Text bearbeiten
key-copy = Text kopieren
key-range = Bis hierher auswählen
imported = etwas wurde importiert
add-missing = Fehlendes hinzufügen
add-missing-how = Ihre Agenten finden es ab der nächsten Frage.
add-missing-now = Speichern
done-stored = Gespeichert
through = Werkzeugsatz
tool-set-use = Diesen Werkzeugsatz nehmen
hooks = Hooks
hooks-how = Die App speichert auch von selbst, was gesagt wird
switched-on = an
switched-off = aus
changed-text = Text
changed-title = Titel
changed-tags = Tags
changed-project = Projekt
changed-type = Typ
changed-kind = Art
changed-pinned = angeheftet
changed-unpinned = gelöst
changed-visibility = wer es lesen darf
changed-expiry = Ablauf
changed-forgotten = vergessen
changed-brought-back = zurückgeholt
changed-replaces = was es ersetzt
changed-weight = Gewicht
changed-summary = Zusammenfassung
changed-sources = Quellen
changed-stands-behind-another = steht hinter einer anderen
changed-in-sight-again = wieder sichtbar
changed-attributes = Eigenschaften
version-until = bis
done-restored-version = Die Fassung ist wiederhergestellt.
count-records = { $count ->
    [one] { $count } Fakt oder Tunnel
   *[other] { $count } Fakten und Tunnel
}
history-earlier = Frühere Sitzungen
