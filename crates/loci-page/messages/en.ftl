skip = Skip to the content
views = Views
tab-home = Home
tab-search = Search
tab-browse = Browse
sign-in = Sign in
continue-as = Continue as { $value }
continue-why = This link signs you in. Go on only if you asked for it yourself, e.g. with “loci page”.
sign-in-code-used = This link was used already, or is older than a minute. Run “loci page” again, or sign in with a token.
sign-in-at = Sign in at { $value }
sign-in-attempt-unknown = This attempt to sign in was not begun in this browser, or is older than ten minutes. Begin again.
sign-in-denied = The provider was told not to let loci know who you are. Begin again to change that.
sign-in-refused = The provider did not sign you in. Begin again; if that does not help, ask who runs this server to compare the client at the provider with the settings under “oidc”.
sign-in-token-refused = The provider signed you in, but this server does not take the token that it gave: { $value }
signed-in = Signed in
go-on = Go on
sign-out = Sign out
consent = Let { $value } in?
consent-host = { $value } asks for access to this memory. The answer goes there.
consent-device = A program on the device in front of you asks for access to this memory. The answer goes to { $value }.
consent-name = It calls itself “{ $value }”, which nobody has checked.
consent-document = What it says of itself is at { $value }.
consent-as = It will act as { $value }, and may:
consent-read = read what you may read
consent-write = store, change and forget memories in your name
consent-where = It may do so at { $value }, until you revoke it: “loci token list” and the page name it.
consent-only = Allow it only if you asked for it yourself, there and just now.
consent-allow = Allow
consent-deny = Do not allow
consent-refused = The client that sent you here cannot be let in: { $value }
token = Token
outcome = Result of the last change
undo = Undo
refused = { $count ->
    [one] One memory was not changed
   *[other] { $count } memories were not changed
}
error-title = Something went wrong
error-home = Home
global = No project
pinned = pinned
shared = visible to your team
forgotten = forgotten
replaced = replaced
via = { $value ->
    [loci] imported
   *[other] tool set { $value }
}
by-app = by { $value }
when = When
tool = Tool
question = Question
results = Results
filed-last = New
filed-none = Nothing here yet. Connect an app to begin.
clients = Connected apps
client-unnamed = unnamed app
wing = Project
room = Topic
type = Type
types = Types
tag = Tag
tags = Tags
from = After
until = Before
all = all
search = Search
why = Why does a question not find it?
rank = { NUMBER($count, type: "ordinal") ->
    [one] { $count }st
    [two] { $count }nd
    [few] { $count }rd
   *[other] { $count }th
}
dialect = Tool set
budget = Reply limit (tokens)
arguments = Arguments
reply-tokens = { $count ->
    [one] The reply has 1 token
   *[other] The reply has { $count } tokens
}
reply-failed = The call failed. The agent sees this error:
count-memories = { $count ->
    [one] 1 memory
   *[other] { $count } memories
}
memories = Memories
tunnels = Tunnels
all-memories = All memories
what-is-deleted = Deleted messages
what-is-deleted-hint = An agent deleted these. They can be brought back until they are removed for good.
select = Select: { $value }
select-all = Select all on this page
move = Move
tags-add = Add (with commas between)
tags-remove = Remove (with commas between)
tags-change = Change tags
share = Share
unshare = Stop sharing
forget = Forget
unforget = Restore
delete = Delete forever
pages = Pages
previous = Previous page
next = Next page
text = Text
summary = Summary:
change = Change
edit = Edit the text
save = Save
pin = Pin to every session
unpin = Unpin
origin = Source
memory-one = Memory
as-stored = As it is stored
copy-text = Copy
copy-this = Copy: { $value }
edit-refused = Somebody changed this memory after you opened it
edit-refused-how = Your text is not saved. Compare both, and save yours or keep the other one.
edit-theirs = Text now
edit-yours = Your text
edit-save-yours = Save my text
edit-keep-theirs = Keep the other one
restore-version = Restore this version
origin-by = { $value } stored this
origin-through = { $value ->
    [loci] Imported
   *[other] Stored with the tool set { $value }
}
said-user = said by the user
said-agent = said by an agent
said-unknown = not known who said it
said-import = from another memory system
said-file = from a file
said-tool = from the output of a tool
said-web = from the web
origin-for = for { $value }
origin-on = on
origin-from = from
origin-in = in
may-see = Who may see it
may-see-private = only you
may-see-shared = your team
may-see-common = everyone in this space
session = Session
details = Details
used-last-days = { $count ->
    [one] Used once in the last 30 days
   *[other] Used { $count } times in the last 30 days
}
id = Id
writer = Author
changed = Last changed
revision = revision { $count }
last-on = last on
file = File
thread = Conversation or file
expires = Expires
sources = Sources
links = Links
replaces = Replaces
stands-behind = Searches show this one in its place
stands-for = Searches show it in the place of
stands-for-about = They say no more than this one, and stay as they are. `loci undo` brings them back into sight.
summaries-of-these = Summary by a language model
replaced-by = It is replaced by
calls = Used in
done-edited = The text was changed.
all-users = What others keep private
all-users-why = You see what any user would see. You can look at everything, in this session; the audit log says so.
all-users-show = Show everything
all-users-on = You see what others keep private.
all-users-hide = Hide it
done-all-users = This session shows everything now.
done-own-view = This session shows what any user sees.
done-pinned = Every session begins with it now.
done-unpinned = It is found by searches alone now.
done-moved = { $count ->
    [0] Select something first.
    [one] Moved 1 memory
   *[other] Moved { $count } memories
}
done-tagged = { $count ->
    [0] Select something first.
    [one] Tagged 1 memory
   *[other] Tagged { $count } memories
}
done-shared = { $count ->
    [0] Select something first.
    [one] Shared 1 memory
   *[other] Shared { $count } memories
}
done-unshared = { $count ->
    [0] Select something first.
    [one] 1 memory is private now
   *[other] { $count } memories are private now
}
done-forgotten = { $count ->
    [0] Select something first.
    [one] Forgot 1 memory
   *[other] Forgot { $count } memories
}
done-unforgotten = { $count ->
    [0] Select something first.
    [one] Restored 1 memory
   *[other] Restored { $count } memories
}
done-deleted = { $count ->
    [0] Select something first.
    [one] Deleted 1 memory forever
   *[other] Deleted { $count } memories forever
}
done-undone = Undone
settings-parts = Parts of the settings
settings-hosts = Hosts
settings-data = Data
settings-access = Access
settings-model = Search model
settings-all = All settings
settings-about = About
host-connected = Connected with the tool set { $value }.
host-hooks = Its hooks call loci.
host-not-connected = Not connected.
hosts-found = Found on this machine, and not connected
hosts-other = Other apps
hosts-other-how = Any app that speaks MCP can use loci. This prints what to add to its settings:
storage = Storage
storage-free = { $value } are free
storage-database = texts and vectors
storage-index = index
storage-notes = notes
storage-backups = backups
storage-models = models
storage-other = other files
running = This takes a moment.
backup-schedule = A backup each night, as a line for “crontab -e”:
token-last-used = Last call
token-unused = not in 90 days
token-last-used-how = Last calls are those of the person, with any token.
model-in-use = Search: words and meaning, with the model { $value }.
model-none = Search: words only.
text-language = Language
language-texts = Texts
language-known = The model knows it
language-how = These are the texts of a sample of the store whose language was recognised.
settings-filter = Text in the name
settings-changed = Changed
settings-none = No setting is changed.
settings-unset = { $count ->
    [one] One setting has its default
   *[other] { $count } settings have their defaults
}
setting-how = Change it by
verdict-ok = Good
verdict-warn = Look at this
verdict-fail = Broken
outside = What leaves this machine
outside-nothing = Nothing: no setting names a service of another machine.
outside-how = Something may go to these services, which settings name:
schema-version = Version of the tables
sent = Requests to other machines in the last 30 days
sent-host = Host
sent-purpose = What for
sent-requests = Requests
sent-last-day = Last day
sent-nothing = Nothing left this machine in the last 30 days.
sent-embedding = Texts and questions, to find them by meaning
sent-llm = Texts, for a language model
sent-web-search = Questions, for a web search
sent-otlp = Durations of calls, without texts
sent-oidc = Sign-ins
sent-oauth = Descriptions of apps that sign in
sent-model = Downloads of search models
sent-other = Other requests
tab-settings = Settings
ran = Done
ran-failed = Something went wrong
hosts-here = Connected apps
hosts-none = No app is connected, and none was found on this machine.
host = App
last-call = Last call
yes = yes
no = no
never = never
connect = Connect
disconnect = Disconnect
check = Check
backup = Backup
back-up-now = Back up now
restore = Restore
restore-how = A running server keeps its store, so a backup is restored into a new folder: it is checked as a whole, and you can look at what is in it before you decide.
restore-now = Open a copy of this backup
restore-this = Open a copy of this backup: { $value }
restored = The backup was restored
restored-folder = Nothing here has changed. It is in the folder
restored-look = Look at it beside this server
restored-replace = Put it in the place of the data folder
restored-replace-how = Stop every loci on this data folder first; what is there moves into the folder of backups.
size = Size
import = Import
import-how = An export of loci, memories as JSON lines or as a list, the store or export of another memory system, or a zip archive of one, of at most { $value }. First you see what would be stored.
import-system = Memory system
import-system-told = told by the content
import-zone = Time zone of times without one
import-from = This is of { $value }.
import-updated = replaced by a later text
import-tunnels = links between places
import-left-out = left out: { $value }
import-samples = The first memories
import-batch = This import is { $value }. “loci undo” takes it back later, too.
import-undo = Take this import back
import-try = Preview import
import-tried = What an import would do
import-ran = The file was imported
import-records = Records
count = Count
import-would-be-stored = would be stored
import-stored = stored
import-present = already there, and stay as they are
import-refused = refused
import-forgotten = stay forgotten; `loci unforget` and `loci import --again` bring them back
import-would-stay-forgotten = were forgotten here, and stay forgotten
import-again = Import also what was forgotten here ({ $value })
import-note-files = files of notes
import-confirm = Nothing is stored yet. The file is removed after the import, or when the next one is sent.
import-now = Import
import-discard = Discard the file
done-upload-discarded = The file was removed, and nothing was stored.
export = Export
export-how = Everything that is remembered, of all users, as text (JSON lines). The page or “loci import” brings it back. Keep the file where only you can read it.
export-now = Download an export
examine = Check
examine-now = Check everything
tokens = Tokens
space = Space
scopes = Scopes
made = Made
over = expired
revoke = Revoke
make-token = Make a token
token-subject = Person
settings = Settings
setting = Setting
value = Value
value-origin = Set by
tab-activity = Activity
recalls-count = Questions
recalls-empty = Nothing found
recalls-reply-tokens = Tokens in replies
recalls-hook-tokens = Tokens added by hooks
recalls-none = No app has asked for anything yet.
recalls-nothing = nothing came back
recalls-weak = only loosely related
recalls-gone = (gone, or not yours to read)
recalls-more = { $count ->
    [one] and one more
   *[other] and { $count } more
}
count-tokens = { $count ->
    [one] 1 token
   *[other] { $count } tokens
}
recalls-older = Older ones
older = Older
program = App
tab-facts = Facts
time-how = What is known of an entity, and for which time it holds. Days are in UTC.
entity = Entity
entities = Entities
as-of-day = Date
facts-known = As known on
facts-known-shown = As known on { $value }.
facts-known-now = As known now
show = Show
facts-none = No facts are noted yet.
facts-none-of-it = Nothing is noted of this entity.
lanes = Timeline
lanes-how = A lane for each relation, with a bar for each fact over the days on which it holds; arrows are open ends. The table below says the same.
leads-to = Related
today = today
play = Play
facts-other = Not true then
fact-rival = at the same time: { $value }
lanes-lasting = { $count ->
    [one] One relation that never changed
   *[other] { $count } relations that never changed
}
around-left-out = { $count ->
    [one] One further entity is not drawn.
   *[other] { $count } further entities are not drawn.
}
facts = Facts
fact-source = Source
fact-author = Noted by
fact-author-own = you
fact-author-unknown = not known
fact-add = Add a fact
holds-from = From
holds-until = Last day
always = always
open-end = open
end = No longer true
end-this = No longer true: { $value }
correct = Fix
correct-this = Fix: { $value }
subject = Who or what
predicate = Relation
object = Value
done-fact-added = The fact was added.
done-fact-known = This fact was noted already.
done-fact-ended = The fact was ended.
done-fact-corrected = The fact was corrected.
tab-review = Review
review-how = Nothing changes until you decide.
review-kinds = Kinds
review-none = There is nothing to decide.
review-clear = All clear: there is nothing to decide in the whole store.
review-clear-at = This was looked at on
review-incomplete = Memories are still being looked at, so there may be more to decide in a moment.
review-keys = Keys: 1, 2, 3 answer a pair, d dismisses, z takes back.
review-show = Show
review-open-memory = Show: { $value }
review-maybe = { $count ->
    [one] One pair that is maybe a contradiction
   *[other] { $count } pairs that are maybe contradictions
}
review-further = { $count ->
    [one] One more
   *[other] { $count } more
}
review-by = By { $value }, whose directives you do not take
review-contradiction = Contradictions
review-contradiction-how = Pairs of memories of which the newer one seems to contradict the older one. If you keep one, it replaces the other.
review-duplicate = Duplicates
review-duplicate-how = Pairs of memories that say nearly the same.
review-secret = Secrets
review-secret-how = Memories whose texts contain what looks like a secret, with its kind; the secret is not shown. What is removed is overwritten and cannot be brought back. A secret in a note has to be removed from its file.
review-arrived = Orders from files
review-arrived-how = Memories that sessions begin with and that came in a file: by an import, or as a note in the folder. A file may be of anybody, so agents see them as quotations until you have them followed. A changed text waits again.
review-directive = Instructions from people you don’t trust
review-directive-how = Rules, feedback and memories that sessions begin with, by authors whom you do not trust. Agents see them as quotations. If you trust the author, agents take the author’s directives as yours.
review-stale = Outdated sources
review-stale-how = Memories that were made from a file of this machine or cite one, as far as that file was read before.
review-note = Note files
review-note-how = Problems of the files in the folder of notes. They have to be settled in the files.
newer = Newer
similar-percent = similar by { $count } %
decide = Decide: { $value }
keep-newer = Keep the newer one
keep-older = Keep the older one
keep-both = Keep both
keep-older-how = Agents get the left one; the right one is kept as replaced.
keep-newer-how = Agents get the right one; the left one is kept as replaced.
keep-both-how = Agents get both, and this pair does not come up again.
redact-how = The secret is overwritten in the text. This cannot be undone.
accept-how = Agents follow it from now on.
trust-how = Agents take all directives of this author as yours.
forget-how = Agents do not get it any more. You can restore it.
dismiss-how = Nothing changes, and this does not come up again.
redact = Remove the secrets
accept = Have agents follow it
accept-all = { $count ->
    [one] Have agents follow this one
   *[other] Have agents follow all { $count }
}
trust = Trust the author
dismiss = Dismiss
file-missing = The file is gone
file-ignored = The file is excluded by a rule of version control
file-changed = The file has changed
file-too-large = The file is too large
file-not-text = The file is no text
file-not-a-file = This is no regular file
file-unreadable = The file cannot be read
file-broken-frontmatter = The frontmatter is broken
file-duplicate-uid = Another note has the same id
file-conflict-copy = Conflict copy
file-possible-conflict = Possible conflict
file-conflict-marks = Conflict of a merge
file-ambiguous-alias = Another note has the same alias
file-emptied = The file became empty
done-superseded = The memory that you kept replaces the other one now.
done-kept-one = One memory was kept, and the other one was forgotten.
done-redacted = The secrets were removed from the memory.
done-accepted = Agents follow these memories now.
done-trusted = Agents take the directives of this author as yours now.
done-dismissed = The item was dismissed.
former-texts = Earlier versions
count-entities = { $count ->
    [0] No entity
    [one] 1 entity
   *[other] { $count } entities
}
entities-text = Text in the name
entities-all = All entities, with the numbers of their facts
entities-cut = There are more than these { $count } entities, with fewer facts. A text in the name finds them.
facts-current = Current facts
facts-past = Past facts
review-order = Suspicious instructions
review-order-how = Texts that are not directives, and contain a sentence that gives agents orders, in the clear or in disguise. Lists of patterns in eleven languages find the usual ones alone. Hooks and session starts do not put them before an agent until you dismiss them here: then they may.
review-read-hidden = In hidden characters, read as
review-read-look-alikes = In letters that look like others, read as
review-read-spacing = With its letters apart or its words together, read as
review-read-encoding = In an encoding, read as
review-open = { $count ->
    [one] one to decide
   *[other] { $count } to decide
}
secret-hidden = secret hidden
reveal = Reveal
done-revealed = The text is shown below. The audit log says who looked at it.
recalls-useful = With a result
recalls-failed = Failed
recalls-last = Latest calls
calls-failed = Failed calls
calendar-stored = Stored
calendar-recalled = Recalled
clients-other = Other apps
chart-recalls = Recalls per day
chart-calendar = Stored and recalled, last 26 weeks
chart-table = As a table
chart-empty = Nothing in this range.
day = Day
range = Range
range-is = Figures of { $value }
tool-times = How long calls took
recalls-weak-count = Only loosely related
session-tokens = Tokens that agents got in a session
session-tokens-how = A bar is the mean of the sessions of an app; its two lines are the median and the 90th percentile.
session-start = at the start
session-prompt = at prompts
session-reply = in replies
sessions = Sessions
median = Median
of-last-calls = { $count ->
    [one] the last call of the range
   *[other] the last { $count } calls of the range
}
questions-open = Questions with a weak or no answer
asked-times = Asked
failures-by-code = Failures by code
failure-code = Code
calls-count = Calls
range-days = { $count ->
    [one] Today
   *[other] { $count } days
}
chart-sum = Sum
certainty-sure = sure
certainty-likely = likely
certainty-maybe = maybe a contradiction
next-session = Next session
next-session-how = What a session of a chosen app and project begins with, byte for byte, and what hooks add at a prompt. Changes here change the next session.
next-session-any-host = Any app
next-session-project = Project (empty: what holds everywhere)
next-session-begins = It begins with
next-session-empty = No memory is read at the start of a session yet. Add one below.
next-session-text = The text
next-session-command = The command { $value } prints the same.
next-session-hook = What the hook of this app adds at the start
next-session-no-hook = The hooks of this app do not call loci, so they add nothing.
next-session-add = Add a memory
next-session-add-now = Begin sessions with it
next-session-prompt = What hooks add at a prompt
next-session-prompt-text = A prompt, as you would type it
next-session-nothing = Nothing: no memory is likely to help with this prompt.
move-up = Up
move-down = Down
move-up-this = Move up: { $value }
move-down-this = Move down: { $value }
unpin-this = Unpin: { $value }
done-reordered = The order was changed. The next session begins in it.
person-remove = Remove a person
person-how = Removes what is known of a person forever: memories, settings, calls, tokens. Count first; nothing goes before you type the name.
person-name = Name, as tokens and records have it
person-count = Count
person-goes = What goes with { $value }
person-nothing = There is nothing of this name.
person-stays = What stays
person-type = Type { $value } to remove it forever
person-remove-now = Remove forever
person-receipt = Receipt
person-removed = Everything of { $value } was removed.
person-another = Remove another person
person-memories = Memories and messages
person-tunnels = Links between rooms
person-answers = Cached answers and kept replies
person-decisions = Decisions
person-settings = Settings
person-calls = Calls in the audit log
person-tokens = Tokens
person-trusted-by = Lists of trusted authors
person-named-in = Settings of the installation with the name, which you change yourself: { $value }
operations = The JSON interface
operations-how = Every operation with its parameters. Send a token as Authorization: Bearer TOKEN. For programs:
operations-no-parameters = No parameters.
deprecated = deprecated
parameter = Parameter
meaning = Meaning
example = Example
next-session-tokens = { $count ->
    [one] 1 token
   *[other] { $count } tokens
}
person-unnamed = { $count ->
    [one] One memory, link or fact for everyone stays, without the name.
   *[other] { $count } memories, links and facts for everyone stay, without the name.
}
person-mentions = { $count ->
    [one] One memory of somebody else has the name in its text. Search for it.
   *[other] { $count } memories of others have the name in their texts. Search for it.
}
person-backups = { $count ->
    [one] One backup stays as it is, and may have all of it.
   *[other] { $count } backups stay as they are, and may have all of it.
}
language-name = English
views-small = Main views
more = More
menu = You and the looks
search-memories = Search memories
theme = Theme
theme-system = System
theme-light = Light
theme-dark = Dark
language = Language
language-system = Browser
density = Rows
density-roomy = Roomy
density-dense = Dense
person = Person
visibility-private = Only you
visibility-shared = Visible to your team
visibility-common = Everyone in this space
number = { $count }
copy = Copy
ago-now = just now
ago-minutes = { $count } min ago
ago-hours = { $count ->
    [one] 1 hour ago
   *[other] { $count } hours ago
}
ago-yesterday = yesterday
ago-days = { $count } days ago
state-fine = All good.
state-fine-apps = { $count ->
    [one] All good. 1 app connected.
   *[other] All good. { $count } apps connected.
}
state-backup = Last backup
state-no-backup = No backup yet.
state-old-backup = Last backup
state-model = The search by meaning does not work; words still find everything.
state-app = The connection of { $value } is broken.
state-reading = { $count ->
    [one] 1 text is still being read; until then it is found by words.
   *[other] { $count } texts are still being read; until then they are found by words.
}
state-minutes = (about { $count } min)
state-read = Read
backing-up = Backing up …
done-backed-up = Backed up
steps = First steps
step-done = done
step-open = to do
step-connect = Connect an app
step-connect-how = Or run this in a terminal; with a name, such as codex, it connects only that app:
connect-this = Connect { $value }
step-store = Ask your agent to remember something
step-store-say = Remember that our staging server is 10.0.4.21
step-recall = Ask for it in a new session
step-recall-say = What is the address of our staging server?
bring = Or bring what you have
bring-file = Import a file:
bring-project = Read a project:
bring-transcripts = Read transcripts:
tile-week = +{ $count } this week
tile-recalls = Recalls today
tile-useful = { $count } % useful
tile-today-none = none yet today
tile-tokens = Tokens per session
tile-tokens-all = Tokens
tile-most = most by { $value }
tile-review = To review
tile-review-none = All clear
tile-review-how = wait for you
chart-growth-90 = Stored in the last 90 days, added up
chart-recalls-90 = Recalls per day, last 90 days
plot-highest = at most { $count }
new-since = { $count ->
    [one] 1 new memory
   *[other] { $count } new memories
}
new-since-when = New since you last looked,
new-none = Nothing new since you last looked,
new-further = { $count ->
    [one] 1 more
   *[other] { $count } more
}
group-further = { $count } more in
session-of = session of
in-place = in
in-none = no project
app-command = command line
app-broken = broken
app-quiet = no call yet
sign-in-here = On this computer, run this in a terminal, which opens the page:
sign-in-elsewhere = From elsewhere, paste a token
sign-in-where = Where do I get one?
sign-in-where-how = Who runs the server makes one for you with
sign-in-token-wrong = This token isn’t valid. Make one with “loci token create”.
error-memory = This memory isn’t here. It may have been deleted. Search for its text.
error-path = There is nothing at this address.
error-near = Did you mean
error-search = Search
keys = Keys
key-rows = Next row, row before
key-select = Select the row
key-open = Open the row
close = Close
palette = Go to
palette-how = A place or a memory
model-read = Every memory is found by its meaning as well.
data-folder = Data folder
data-server = Database
facts-true = { $count ->
    [one] fact is true on
   *[other] facts are true on
}
history = History
history-how = The last 20 changes of this session. One that can be taken back has a button.
history-none = You changed nothing in this session.
copied = Copied
key-edit = Edit the text
key-copy = Copy the text
key-range = Select up to here
imported = something was imported
add-missing = Add what was missing
add-missing-how = Your agents find it from the next question on.
add-missing-now = Store it
done-stored = Stored
through = Tool set
tool-set-use = Use this tool set
hooks = Hooks
hooks-how = Have the app save what is said by itself, too
switched-on = on
switched-off = off
changed-text = text
changed-title = title
changed-tags = tags
changed-project = project
changed-type = type
changed-kind = kind
changed-pinned = pinned
changed-unpinned = unpinned
changed-visibility = who may read it
changed-expiry = expiry
changed-forgotten = forgotten
changed-brought-back = brought back
changed-replaces = what it replaces
changed-weight = weight
changed-summary = summary
changed-sources = sources
changed-stands-behind-another = stands behind another memory
changed-in-sight-again = in sight again
changed-attributes = attributes
version-until = until
done-restored-version = The version was restored.
count-records = { $count ->
    [one] { $count } fact or tunnel
   *[other] { $count } facts and tunnels
}
history-earlier = Earlier sessions
