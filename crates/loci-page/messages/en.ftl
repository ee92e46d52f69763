skip = Skip to the content
views = Views
tab-now = Now
tab-search = Search
tab-palace = Palace
sign-in = Sign in
sign-in-how = Run “loci page” on the machine of the server, or give a token (“loci token create”).
continue-as = Continue as { $value }
continue-why = This link signs you in. Go on only if you asked for it yourself, e.g. with “loci page”.
sign-in-code-used = This link was used already, or is older than a minute. Run “loci page” again, or sign in with a token.
sign-in-at = Sign in at { $value }
sign-in-or = Or run “loci page” on the machine of the server, or give a token (“loci token create”).
sign-in-attempt-unknown = This attempt to sign in was not begun in this browser, or is older than ten minutes. Begin again.
sign-in-denied = The provider was told not to let loci know who you are. Begin again to change that.
sign-in-refused = The provider did not sign you in. Begin again; if that does not help, ask who runs this server to compare the client at the provider with the settings under “oidc”.
sign-in-token-refused = The provider signed you in, but this server does not take the token that it gave: { $value }
signed-in = Signed in
go-on = Go on
sign-out = Sign out
token = Token
outcome = Result of the last change
undo = Undo
refused = { $count ->
    [one] One memory was not changed
   *[other] { $count } memories were not changed
}
keys = Keys: j and k move, x selects, o opens, / searches.
error-title = That did not work
error-home = To the first view
global = global
pinned = in every session
shared = shared
forgotten = forgotten
replaced = replaced
via = through { $value }
when = When
who = Who
tool = Tool
question = Question
results = Results
filed-since = { $count ->
    [0] Nothing was filed since you last looked,
    [one] One memory was filed since you last looked,
   *[other] { $count } memories were filed since you last looked,
}
filed-first = { $count ->
    [0] There are no memories yet.
    [one] There is one memory.
   *[other] There are { $count } memories.
}
filed-last = Filed last
filed-none = Nothing is filed yet.
asked-last = Called last
asked-none = No agent has called yet.
clients = Hosts
clients-none = No host has called from this machine yet. “loci connect” connects those that are installed.
client-unnamed = a client without a name
health-memories = Memories
health-disk = On disk
health-place = Store
health-search = Searches by
health-waiting = Texts without a vector
health-backup = Last backup
none = none
wing = Wing
room = Room
rooms = Rooms
type = Type
types = Types
tag = Tag
tags = Tags
through = Through
from = From
until = Until
all = all
search = Search
as-agent = As an agent sees it
as-agent-how = The call of a tool with its arguments, and the reply, byte for byte. The call is recorded in the audit log.
why = Why does a question not find it?
found-none = Nothing was found.
relevance = Relevance { $value }
why-words = By words
why-meaning = By meaning
why-identifiers = Identifiers of the question
why-said = Memories with this text
rank = rank { $count }
covers = covers { $value } of the question
cosine = cosine { $value }
dialect = Dialect
budget = Budget in tokens
arguments = Arguments (JSON)
call = Call
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
map = Map
map-how = Each disc is a wing, each point in it a room; lines are tunnels. A point opens its room.
tunnels = Tunnels
all-memories = All memories
what-is-forgotten = Forgotten memories
what-is-deleted = Deleted messages
what-is-deleted-hint = An agent deleted these. They can be brought back until they are removed for good.
select = Select: { $value }
select-all = Select all on this page
with-selected = With the selected memories
move = Move
move-global = to no wing (global)
tags-add = Add (with commas between)
tags-remove = Remove (with commas between)
tags-change = Change tags
share = Share
unshare = Stop sharing
forget = Forget
unforget = Bring back
delete = Delete for good
delete-sure = I know that this cannot be undone
pages = Pages
previous = Previous page
next = Next page
text = Text
as-markdown = As Markdown
summary = Summary:
change = Change
edit = Edit the text
save = Save
pin = Begin every session with it
unpin = Only when it is searched for
origin = Where it comes from
id = Id
filed = Filed
owner = Filed by
writer = Text by
changed = Last changed
revision = revision { $count }
recalled = Returned to agents
times = { $count ->
    [0] never
    [one] once
   *[other] { $count } times
}
last-on = last on
visibility = Visibility
file = File
thread = Conversation or file
expires = Expires
sources = Sources
links = Links
replaces = Versions that it replaces
replaced-by = It is replaced by
calls = Calls that named it
done-edited = The text was changed.
all-users = What others keep private
all-users-why = You see what any user of this store would see. You can look at everything, in this session; the audit log says so.
all-users-show = Show everything
all-users-on = You see what others keep private.
all-users-hide = Hide it
done-all-users = This session shows everything now.
done-own-view = This session shows what any user sees.
done-pinned = Every session begins with it now.
done-unpinned = It is found by searches alone now.
done-moved = { $count ->
    [one] One memory was moved.
   *[other] { $count } memories were moved.
}
done-tagged = { $count ->
    [one] The tags of one memory were changed.
   *[other] The tags of { $count } memories were changed.
}
done-shared = { $count ->
    [one] One memory is shared now.
   *[other] { $count } memories are shared now.
}
done-unshared = { $count ->
    [one] One memory is private now.
   *[other] { $count } memories are private now.
}
done-forgotten = { $count ->
    [one] One memory was forgotten.
   *[other] { $count } memories were forgotten.
}
done-unforgotten = { $count ->
    [one] One memory was brought back.
   *[other] { $count } memories were brought back.
}
done-deleted = { $count ->
    [one] One memory was deleted for good.
   *[other] { $count } memories were deleted for good.
}
done-undone = The change was taken back.
tab-keep = Connect and keep
ran = Done
ran-failed = That did not work
hosts-here = Hosts on this machine
hosts-none = No host is found on this machine.
host = Host
connected = Connected
hooks = Hooks
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
restore-now = Restore into a new folder
restore-this = Restore into a new folder: { $value }
restored = The backup was restored
restored-folder = Nothing here has changed. It is in the folder
restored-look = Look at it beside this server
restored-replace = Put it in the place of the store
restored-replace-how = Stop every loci on this data folder first; what is there moves into the folder of backups.
size = Size
import = Import
import-how = An export of loci, memories as JSON lines or as a list, or a zip archive of one, of at most { $value }. First you see what would be stored.
import-try = Look at the file
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
examine = Examination
examine-now = Examine the installation (“loci doctor”)
tokens = Tokens
space = Space
scopes = Scopes
made = Made
over = not valid any more
revoke = Revoke
make-token = Make a token
token-subject = Whom it lets in
settings = Settings
setting = Setting
value = Value
value-origin = Comes from
tab-recalls = Recalls
recalls-count = Questions
recalls-empty = Without an answer
recalls-reply-tokens = Tokens of the replies
recalls-hook-tokens = Tokens that hooks put before agents
recalls-none = No agent has asked yet.
recalls-nothing = nothing came back
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
program = Program
tab-time = Time
time-how = What is known of an entity, and for which time it holds. Days are in UTC.
entity = Entity
entities = Entities
as-of = On the day
as-of-day = Look at the day
show = Show
facts-none = No facts are noted yet.
facts-none-of-it = Nothing is noted of this entity.
lanes = Along the time
lanes-how = A lane for each relation, with a bar for each fact over the days on which it holds; arrows are open ends. The table below says the same.
leads-to = It is connected with
holding-at = Facts that hold on
facts = Facts
fact = Fact
fact-source = Source
fact-author = Noted by
fact-author-own = you
fact-author-unknown = not known
fact-add = Add a fact
holds-from = From
holds-until = Until and including
holds-then = Holds on that day
always = always
open-end = open
end = End
end-this = End: { $value }
correct = Correct
correct-this = Correct: { $value }
subject = Subject
predicate = Relation
object = Object
done-fact-added = The fact was added.
done-fact-known = This fact was noted already.
done-fact-ended = The fact was ended.
done-fact-corrected = The fact was corrected.
tab-review = Review
review-how = What you should decide. Nothing happens by itself.
review-kinds = Kinds
review-look = Look
review-none = There is nothing to decide among what was looked at.
review-looked-at = { $count ->
    [0] Nothing was looked at
    [one] One was looked at
   *[other] { $count } were looked at, the last filed ones first
}
review-further = Look further back
review-further-of = Look further back: { $value }
review-by = By { $value }, whose directives you do not take
review-contradiction = Contradictions
review-contradiction-how = Pairs of memories of which the newer one seems to contradict the older one. If you keep one, it replaces the other.
review-duplicate = Near duplicates
review-duplicate-how = Pairs of memories that say nearly the same.
review-secret = Secrets
review-secret-how = Memories whose texts contain what looks like a secret, with its kind; the secret is not shown. What is removed is overwritten and cannot be brought back. A secret in a note has to be removed from its file.
review-arrived = Orders from files
review-arrived-how = Memories that sessions begin with and that came in a file: by an import, or as a note in the folder. A file may be of anybody, so agents see them as quotations until you have them followed. A changed text waits again.
review-directive = Directives of others
review-directive-how = Rules, feedback and memories that sessions begin with, by authors whom you do not trust. Agents see them as quotations. If you trust the author, agents take the author’s directives as yours.
review-stale = Files that are gone or changed
review-stale-how = Memories that were made from a file of this machine or cite one, as far as that file was read before.
review-note = Note files
review-note-how = Problems of the files in the folder of notes. They have to be settled in the files.
newer = Newer
similar-percent = similar by { $count } %
compare = Compare the texts
decide = Decide: { $value }
keep-newer = Keep the newer one
keep-older = Keep the older one
keep-both = Both are right
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
former-texts = Former texts
count-entities = { $count ->
    [0] No entity
    [one] 1 entity
   *[other] { $count } entities
}
entities-text = Text in the name
entities-all = All entities, with the numbers of their facts
entities-cut = There are more facts than the { $count } that were read, and perhaps more entities.
facts-current = Current facts
facts-past = Past facts
found-of-program = { $count ->
    [0] The audit log has no call of this program that you may see.
    [one] Filed by the last call of this program in the audit log.
   *[other] Filed by the last { $count } calls of this program in the audit log.
}
found-of-program-cut = There may be more: of its last 5,000 calls, the last 1,000 memories are looked at, or for a question the best 100.
review-order = Orders in texts
review-order-how = Texts that are not directives, and contain a sentence that gives agents orders. A short list of patterns in English and German finds the usual ones alone.
