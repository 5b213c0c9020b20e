// gh-ost itself, built for tests/test_mirror_tools.py.
module pelorus.test/gh-ost

go 1.23.0

require github.com/github/gh-ost v1.1.8
