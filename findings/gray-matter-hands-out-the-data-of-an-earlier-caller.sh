#!/usr/bin/env bash
# Package: gray-matter 4.0.3 (npm), which reads the frontmatter of notes.
# Behaviour: called with a text alone, it keeps what it parsed and hands the same object out for every later
#   equal text. What one caller writes into `data` (a tag, a title) is what the next caller reads as the
#   frontmatter of another note with the same text, and of the same note after it was read again. With any options,
#   even `{}`, it parses anew.
# Why a good guess misses it: parsing a text looks like a pure function, a cache would be expected to hand out
#   copies, and an empty object of options would be expected to change nothing.
# Date: 2026-11-28
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"private": true}' > package.json
npm install --silent --no-audit --no-fund gray-matter@4.0.3
cat > try.cjs <<'JS'
const matter = require('gray-matter');
const note = '---\ntitle: Depot\ntags: [stock]\n---\nOpen on Mondays.\n';
const first = matter(note);
first.data.tags.push('checked');
first.data.title = 'Depot, seen';
const again = matter(note).data;
const withOptions = matter(note, {}).data;
console.log('gray-matter', require('gray-matter/package.json').version);
console.log('the text says    ', '{"title":"Depot","tags":["stock"]}');
console.log('matter(note)     ', JSON.stringify(again));
console.log('matter(note, {}) ', JSON.stringify(withOptions));
const isSeen = again.title === 'Depot, seen' && again.tags.length === 2
  && withOptions.title === 'Depot' && withOptions.tags.length === 1;
process.exit(isSeen ? 0 : 1);
JS
node try.cjs
