"""The agent hosts: how each is started, connected and asked without a person."""
