"""The forge behind a repository (GitHub, Forgejo, Gitea): what an action of a loop calls. No decision is made here.

forge          the interface `Forge`, its records and its errors
marker         the hidden comment by which we recognise our own pull requests and comments
remote         which repository of which forge the user's remote names
connect        the forge of a repository, and the token for it; imports the client when it is used
access         the records of a token and of patience
github         the client: GitHub's API, and Forgejo's where it differs
reader         what is open and what failed there, for inputs; nothing is written
api            one request: the host that gets the token, limits, retries, errors
answer_values  values out of an answer, each of the type that it must have
limits         how long an answer of the server asks us to wait
push           one commit to one new branch of the remote
"""
