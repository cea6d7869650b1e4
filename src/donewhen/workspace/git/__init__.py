"""Access to the user's repository, our private object store, and landing of results.

Our git commands run only in the store. Only `landing` writes to the user's repository. Start reading with `repo`.
"""
