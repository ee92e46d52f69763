skip = Zum Inhalt
views = Ansichten
tab-now = Jetzt
tab-search = Suche
tab-palace = Palast
sign-in = Anmelden
sign-in-how = Rufen Sie „loci page“ auf dem Rechner des Servers auf, oder geben Sie ein Token ein („loci token create“).
continue-as = Weiter als { $value }
continue-why = Dieser Link meldet Sie an. Gehen Sie nur weiter, wenn Sie ihn selbst angefordert haben, zum Beispiel mit „loci page“.
sign-in-code-used = Dieser Link wurde schon benutzt oder ist älter als eine Minute. Rufen Sie „loci page“ noch einmal auf, oder melden Sie sich mit einem Token an.
sign-in-at = Bei { $value } anmelden
sign-in-or = Oder rufen Sie „loci page“ auf dem Rechner des Servers auf, oder geben Sie ein Token ein („loci token create“).
sign-in-attempt-unknown = Diese Anmeldung wurde nicht in diesem Browser begonnen oder ist älter als zehn Minuten. Beginnen Sie noch einmal.
sign-in-denied = Dem Anbieter wurde verwehrt, loci zu sagen, wer Sie sind. Beginnen Sie noch einmal, um das zu ändern.
sign-in-refused = Der Anbieter hat Sie nicht angemeldet. Beginnen Sie noch einmal; hilft das nicht, bitten Sie den Betreiber dieses Servers, den Client beim Anbieter mit den Einstellungen unter „oidc“ zu vergleichen.
sign-in-token-refused = Der Anbieter hat Sie angemeldet, aber dieser Server nimmt das Token nicht an, das er gab: { $value }
signed-in = Angemeldet
go-on = Weiter
sign-out = Abmelden
token = Token
outcome = Ergebnis der letzten Änderung
undo = Rückgängig
refused = { $count ->
    [one] Eine Erinnerung wurde nicht geändert
   *[other] { $count } Erinnerungen wurden nicht geändert
}
keys = Tasten: j und k bewegen, x wählt aus, o öffnet, / sucht.
error-title = Das ging nicht
error-home = Zur ersten Ansicht
global = global
pinned = in jeder Sitzung
shared = geteilt
forgotten = vergessen
replaced = ersetzt
via = durch { $value }
when = Wann
who = Wer
tool = Werkzeug
question = Frage
results = Treffer
filed-since = { $count ->
    [0] Seit Ihrem letzten Besuch wurde nichts abgelegt,
    [one] Seit Ihrem letzten Besuch wurde eine Erinnerung abgelegt,
   *[other] Seit Ihrem letzten Besuch wurden { $count } Erinnerungen abgelegt,
}
filed-first = { $count ->
    [0] Es gibt noch keine Erinnerungen.
    [one] Es gibt eine Erinnerung.
   *[other] Es gibt { $count } Erinnerungen.
}
filed-last = Zuletzt abgelegt
filed-none = Es ist noch nichts abgelegt.
asked-last = Zuletzt aufgerufen
asked-none = Noch hat kein Agent etwas aufgerufen.
clients = Hosts
clients-none = Von diesem Rechner hat noch kein Host etwas aufgerufen. „loci connect“ verbindet die installierten.
client-unnamed = ein Client ohne Namen
health-memories = Erinnerungen
health-disk = Auf der Platte
health-place = Ablage
health-search = Sucht nach
health-waiting = Texte ohne Vektor
health-backup = Letzte Sicherung
none = keine
wing = Flügel
room = Raum
rooms = Räume
type = Art
types = Arten
tag = Schlagwort
tags = Schlagwörter
through = Durch
from = Von
until = Bis
all = alle
search = Suchen
as-agent = Wie ein Agent es sieht
as-agent-how = Der Aufruf eines Werkzeugs mit seinen Argumenten, und die Antwort, Byte für Byte. Der Aufruf steht danach im Protokoll.
why = Warum findet eine Frage sie nicht?
found-none = Nichts gefunden.
relevance = Relevanz { $value }
why-words = Nach Wörtern
why-meaning = Nach Bedeutung
why-identifiers = Bezeichner aus der Frage
why-said = Erinnerungen mit diesem Text
rank = Rang { $count }
covers = deckt { $value } der Frage
cosine = Kosinus { $value }
dialect = Dialekt
budget = Budget in Tokens
arguments = Argumente (JSON)
call = Aufrufen
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
map = Karte
map-how = Jede Scheibe ist ein Flügel, jeder Punkt darin ein Raum; Linien sind Tunnel. Ein Punkt öffnet seinen Raum.
tunnels = Tunnel
all-memories = Alle Erinnerungen
what-is-forgotten = Vergessene Erinnerungen
what-is-deleted = Gelöschte Nachrichten
what-is-deleted-hint = Ein Agent hat sie gelöscht. Sie lassen sich zurückholen, bis sie endgültig entfernt werden.
select = Auswählen: { $value }
select-all = Alle auf dieser Seite auswählen
with-selected = Mit den ausgewählten Erinnerungen
move = Verschieben
move-global = in keinen Flügel (global)
tags-add = Hinzufügen (mit Kommas dazwischen)
tags-remove = Entfernen (mit Kommas dazwischen)
tags-change = Schlagwörter ändern
share = Teilen
unshare = Nicht mehr teilen
forget = Vergessen
unforget = Zurückholen
delete = Endgültig löschen
delete-sure = Ich weiß, dass sich das nicht rückgängig machen lässt
pages = Seiten
previous = Vorige Seite
next = Nächste Seite
text = Text
as-markdown = Als Markdown
summary = Zusammenfassung:
change = Ändern
edit = Text bearbeiten
save = Speichern
pin = Jede Sitzung damit beginnen
unpin = Nur bei einer Suche
origin = Woher sie kommt
id = Id
filed = Abgelegt
owner = Abgelegt von
writer = Text von
changed = Zuletzt geändert
revision = Stand { $count }
recalled = An Agenten gegeben
times = { $count ->
    [0] nie
    [one] einmal
   *[other] { $count }-mal
}
last-on = zuletzt am
visibility = Sichtbarkeit
file = Datei
thread = Gespräch oder Datei
expires = Läuft ab
sources = Quellen
links = Verweise
replaces = Fassungen, die sie ersetzt
replaced-by = Sie ist ersetzt durch
calls = Aufrufe, die sie nannten
done-edited = Der Text wurde geändert.
all-users = Was andere für sich behalten
all-users-why = Sie sehen, was jeder Benutzer dieses Speichers sähe. Sie können in dieser Sitzung alles ansehen; das Protokoll hält das fest.
all-users-show = Alles zeigen
all-users-on = Sie sehen, was andere für sich behalten.
all-users-hide = Ausblenden
done-all-users = Diese Sitzung zeigt jetzt alles.
done-own-view = Diese Sitzung zeigt, was jeder Benutzer sieht.
done-pinned = Jede Sitzung beginnt nun damit.
done-unpinned = Nur noch Suchen finden sie.
done-moved = { $count ->
    [one] Eine Erinnerung wurde verschoben.
   *[other] { $count } Erinnerungen wurden verschoben.
}
done-tagged = { $count ->
    [one] Die Schlagwörter einer Erinnerung wurden geändert.
   *[other] Die Schlagwörter von { $count } Erinnerungen wurden geändert.
}
done-shared = { $count ->
    [one] Eine Erinnerung ist nun geteilt.
   *[other] { $count } Erinnerungen sind nun geteilt.
}
done-unshared = { $count ->
    [one] Eine Erinnerung ist nun privat.
   *[other] { $count } Erinnerungen sind nun privat.
}
done-forgotten = { $count ->
    [one] Eine Erinnerung wurde vergessen.
   *[other] { $count } Erinnerungen wurden vergessen.
}
done-unforgotten = { $count ->
    [one] Eine Erinnerung wurde zurückgeholt.
   *[other] { $count } Erinnerungen wurden zurückgeholt.
}
done-deleted = { $count ->
    [one] Eine Erinnerung wurde endgültig gelöscht.
   *[other] { $count } Erinnerungen wurden endgültig gelöscht.
}
done-undone = Die Änderung wurde zurückgenommen.
tab-keep = Verbinden und sichern
ran = Erledigt
ran-failed = Das ging nicht
hosts-here = Hosts auf diesem Rechner
hosts-none = Auf diesem Rechner ist kein Host zu finden.
host = Host
connected = Verbunden
hooks = Hooks
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
restore-now = In einen neuen Ordner
restore-this = In einen neuen Ordner: { $value }
restored = Die Sicherung wurde zurückgespielt
restored-folder = Hier hat sich nichts geändert. Sie ist im Ordner
restored-look = Neben diesem Server ansehen
restored-replace = An die Stelle des Speichers setzen
restored-replace-how = Beenden Sie zuerst jedes loci auf diesem Datenordner; was dort ist, kommt in den Ordner der Sicherungen.
size = Größe
import = Einlesen
import-how = Ein Export von loci, Erinnerungen als JSON-Zeilen oder als Liste, oder ein Zip-Archiv davon, höchstens { $value }. Zuerst sehen Sie, was gespeichert würde.
import-try = Datei ansehen
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
examine = Untersuchung
examine-now = Die Installation untersuchen („loci doctor“)
tokens = Tokens
space = Bereich
scopes = Rechte
made = Gemacht
over = nicht mehr gültig
revoke = Widerrufen
make-token = Token machen
token-subject = Wen es einlässt
settings = Einstellungen
setting = Einstellung
value = Wert
value-origin = Kommt aus
tab-recalls = Abrufe
recalls-count = Fragen
recalls-empty = Ohne Antwort
recalls-reply-tokens = Tokens der Antworten
recalls-hook-tokens = Tokens, die Hooks den Agenten vorlegten
recalls-none = Noch hat kein Agent gefragt.
recalls-nothing = nichts kam zurück
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
program = Programm
tab-time = Zeit
time-how = Was über eine Sache bekannt ist und für welche Zeit es gilt. Tage sind in UTC angegeben.
entity = Sache
entities = Sachen
as-of = Am Tag
as-of-day = Betrachteter Tag
show = Zeigen
facts-none = Es sind noch keine Fakten vermerkt.
facts-none-of-it = Über diese Sache ist nichts vermerkt.
lanes = Im Lauf der Zeit
lanes-how = Eine Bahn je Beziehung, mit einem Balken je Fakt über den Tagen, an denen er gilt; Pfeile sind offene Enden. Die Tabelle darunter sagt dasselbe.
leads-to = Sie hängt zusammen mit
holding-at = Fakten, die gelten am
facts = Fakten
fact = Fakt
fact-source = Quelle
fact-author = Notiert von
fact-author-own = Ihnen
fact-author-unknown = nicht bekannt
fact-add = Fakt hinzufügen
holds-from = Von
holds-until = Bis einschließlich
holds-then = Gilt an diesem Tag
always = immer
open-end = offen
end = Beenden
end-this = Beenden: { $value }
correct = Berichtigen
correct-this = Berichtigen: { $value }
subject = Subjekt
predicate = Beziehung
object = Objekt
done-fact-added = Der Fakt wurde hinzugefügt.
done-fact-known = Dieser Fakt war schon vermerkt.
done-fact-ended = Der Fakt wurde beendet.
done-fact-corrected = Der Fakt wurde berichtigt.
tab-review = Prüfen
review-how = Was Sie entscheiden sollten. Von selbst geschieht nichts.
review-kinds = Arten
review-look = Ansehen
review-none = Unter dem, was angesehen wurde, gibt es nichts zu entscheiden.
review-looked-at = { $count ->
    [0] Nichts wurde angesehen
    [one] Ein Eintrag wurde angesehen
   *[other] { $count } Einträge wurden angesehen, die zuletzt abgelegten zuerst
}
review-further = Weiter zurück
review-further-of = Weiter zurück: { $value }
review-by = Von { $value }; den Anweisungen folgen Sie nicht
review-contradiction = Widersprüche
review-contradiction-how = Paare von Erinnerungen, von denen die neuere der älteren zu widersprechen scheint. Wenn Sie eine behalten, ersetzt sie die andere.
review-duplicate = Fast gleiche
review-duplicate-how = Paare von Erinnerungen, die fast dasselbe sagen.
review-secret = Geheimnisse
review-secret-how = Erinnerungen, deren Text wohl ein Geheimnis enthält, mit dessen Art; das Geheimnis wird nicht gezeigt. Was entfernt ist, ist überschrieben und lässt sich nicht zurückholen. Aus einer Notiz müssen Sie es in ihrer Datei entfernen.
review-arrived = Anweisungen aus Dateien
review-arrived-how = Erinnerungen, mit denen Sitzungen beginnen und die aus einer Datei kamen: durch einen Import oder als Notiz im Ordner. Eine Datei kann von jedem sein; Agenten sehen sie daher als Zitate, bis Sie sie gelten lassen. Ein geänderter Text wartet erneut.
review-directive = Anweisungen anderer
review-directive-how = Regeln, Rückmeldungen und Erinnerungen, mit denen Sitzungen beginnen, von Verfassern, denen Sie nicht vertrauen. Agenten sehen sie als Zitate. Wenn Sie dem Verfasser vertrauen, gelten seine Anweisungen für Agenten wie Ihre.
review-stale = Verschwundene oder geänderte Dateien
review-stale-how = Erinnerungen, die aus einer Datei dieses Rechners stammen oder eine anführen, soweit diese Datei früher gelesen wurde.
review-note = Dateien der Notizen
review-note-how = Probleme der Dateien im Ordner der Notizen. Sie müssen in den Dateien gelöst werden.
newer = Neuer
similar-percent = zu { $count } % ähnlich
compare = Texte vergleichen
decide = Entscheiden: { $value }
keep-newer = Die neuere behalten
keep-older = Die ältere behalten
keep-both = Beide stimmen
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
former-texts = Frühere Texte
count-entities = { $count ->
    [0] Keine Sache
    [one] 1 Sache
   *[other] { $count } Sachen
}
entities-text = Text im Namen
entities-all = Alle Sachen, mit den Zahlen ihrer Fakten
entities-cut = Es gibt mehr Fakten als die { $count }, die gelesen wurden, und vielleicht mehr Sachen.
facts-current = Geltende Fakten
facts-past = Vergangene Fakten
found-of-program = { $count ->
    [0] Das Protokoll hat keinen Aufruf dieses Programms, den Sie sehen dürfen.
    [one] Abgelegt vom letzten Aufruf dieses Programms im Protokoll.
   *[other] Abgelegt von den letzten { $count } Aufrufen dieses Programms im Protokoll.
}
found-of-program-cut = Es kann mehr geben: Von seinen letzten 5.000 Aufrufen werden die letzten 1.000 Erinnerungen angesehen, bei einer Frage die besten 100.
review-order = Befehle in Texten
review-order-how = Texte, die keine Anweisungen sind und einen Satz enthalten, der Agenten Befehle gibt. Eine kurze Liste von Mustern auf Englisch und Deutsch findet nur die üblichen.
