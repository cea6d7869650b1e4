"""Commands that stall the parser: for every pipe before the first brace it takes half as long again."""

STALLING = "true e| | " + "true | " * 80 + "${x:-true | ${x:-true | git push"

SHORT = 'r=\'|\'; t="true $r "; q=$t$t$t$t$t$t$t$t$t; eval "true e$r $r $q$q$q$q$q$q$q$q$q\\${x:-$t\\${x:-${t}git push"'
"""It looks harmless; what `eval` reads is not."""
