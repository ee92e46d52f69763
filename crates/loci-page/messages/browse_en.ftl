b-browse = Browse
b-no-project = No project
b-nobody = Nobody
b-value-empty = empty
b-why-open = why
b-why-by-words = By words
b-why-by-meaning = By meaning
b-why-fused = By both
b-place-by-words = { NUMBER($count, type: "ordinal") ->
    [one] { $count }st by words
    [two] { $count }nd by words
    [few] { $count }rd by words
   *[other] { $count }th by words
}
b-place-by-meaning = { NUMBER($count, type: "ordinal") ->
    [one] { $count }st by meaning
    [two] { $count }nd by meaning
    [few] { $count }rd by meaning
   *[other] { $count }th by meaning
}
b-place-fused = { NUMBER($count, type: "ordinal") ->
    [one] { $count }st
    [two] { $count }nd
    [few] { $count }rd
   *[other] { $count }th
}
b-words-found = { $value } of the question’s words found
b-words-all-found = all words found
b-words-none-found = no word of the question
b-nearness = meaning { $value }
b-meaning-unknown = not compared
b-not-ranked = not ranked
b-chance = Chance of an answer
b-identifiers = Names of the question in it
b-same-text = Memories with this text
b-match-strong = Strong match
b-match-fair = Fair match
b-match-weak = Weak match
b-filters = Filters
b-filters-set = Filters that are set
b-filter-remove = Remove the filter { $value }
b-filters-clear = Clear filters
b-filters-apply = Apply filters
b-facet-wing = Project
b-facet-room = Topic
b-facet-type = Type
b-facet-tag = Tag
b-facet-who = Stored by
b-facet-via = Tool set
b-facet-program = App
b-facet-date = Date
b-after = After
b-before = Before
b-as-of-legend = Earlier
b-as-of = As known on
b-as-of-shown = As known on { $value }. The numbers beside the filters are of today.
b-times = Memories by date
b-values-more = { $count ->
    [one] 1 more
   *[other] { $count } more
}
b-of-total = of { $count }
b-best-first = best first
b-results-none = No memory matches these filters.
b-answers-none = Nothing stored answers this.
b-loosely = Only loosely related ({ $count })
b-more-results = More results
b-results-cut = The best 100 are shown. Ask more narrowly, or set a filter, to see others.
b-search-here = Search memories
b-search-kinds = Kinds of search
b-tab-results = Results
b-tab-agent = What agents get
b-tab-why-not = Why not?
b-save-search = Save this search
b-save-name = Name
b-searches-saved = Saved searches
b-search-remove = Remove the search { $value }
b-questions-yours = Your last questions
b-questions-agents = Last questions of agents
b-done-search-saved = The search was saved.
b-done-search-removed = The search was removed.
b-preview = Preview
b-open = Open
b-close = Close
b-used-times = { $count ->
    [0] Never used by an app
    [one] Used once
   *[other] Used { $count } times
}
b-bulk = What to do with the selected memories
b-selected-one = 1 selected
b-selected-many = # selected
b-selected-some = Selected
b-select-all-of = Select all { $count }
b-restore = Restore
b-project = Project
b-topic = Topic
b-to-no-project = to no project
b-share-with-all = Share with everyone in this space
b-share-no-more = Only for you
b-export-selected = Export
b-delete-forever = Delete forever
b-type-delete = Type DELETE to confirm
b-browse-kinds = List or overview
b-tab-list = List
b-tab-overview = Overview
b-places = Places
b-forgotten-list = Forgotten (can be restored)
b-column-text = Text
b-created = Created
b-used = Used
b-tool-set = Tool set
b-order-newest = newest first
b-order-oldest = oldest first
b-order-changed = last changed first
b-order-used = most used first
b-order-unused = least used first
b-order-idle = longest unused first
b-order-largest = largest first
b-order-smallest = smallest first
b-order-type = by type
b-order-host = by app
b-treemap = Memories by project and topic
b-treemap-how = Each area is a project, with its topics: as large as its memories, and darker where they were used in the last 30 days.
b-other-places = Other projects
b-used-lately = Used in 30 days
b-tags-most-used = Most used tags
b-connections = Connections
b-unused = Never used in 90 days
b-unused-all = All of these
b-which-memory = Which memory (its id, or words of it)
b-everywhere = Everywhere
b-why-ask = Why?
b-why-unknown = There is no memory of this id that you may see. It may be private to somebody else: ask its owner to share it.
b-why-which = Or do you mean one of these?
b-open-instead = Open that one
b-ask-in-project = Ask in its project
b-hurdles = What it has to pass
b-hurdle-scope = In the place that is searched
b-hurdle-filters = Passes the filters
b-hurdle-visibility = Visible to who searches
b-hurdle-forgotten = Not forgotten
b-hurdle-replaced = Not replaced
b-hurdle-expired = Not expired
b-hurdle-budget = Within the reply
b-hurdle-met = yes
b-hurdle-unmet = no
b-agent-how = The call of a tool with its arguments, and the reply that an agent gets. The call is recorded in the audit log.
b-not-named = not named
b-reply-limit = Reply limit (tokens)
b-tool-arguments = Arguments
b-run = Run
b-missing-first = The agent does not get the first result of your search
b-missing-global = “{ $value }” without a project looks only in memories of no project
b-missing-other-project = The call looked in another project.
b-missing-project = With the project “{ $value }”, it is found.
b-missing-place = { $count ->
    [one] There, this memory is first.
   *[other] There, this memory is number { $count }.
}
b-missing-name-it = Run with the project { $value }
b-tokens-of-each = Tokens of each memory
b-show-bytes = Show the exact text
b-waiting = { $count ->
    [one] One new memory is still being read; until then it is found by words.
   *[other] { $count } new memories are still being read; until then they are found by words.
}
b-search-form = Search with filters
