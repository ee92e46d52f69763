"""Stands where memtrust looks for the package mempalace, so that memtrust drives loci over MCP."""
