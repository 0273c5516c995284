"""``python -m warpwright``: the tool."""

from ._tool import main

main()
