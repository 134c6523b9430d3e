-- Lua files are scripts for Redis and Valkey: Lua 5.1 without the libraries that reach outside of the server.
std = "lua51"
not_globals = { "debug", "dofile", "io", "loadfile", "module", "os", "package", "print", "require" }
read_globals = { "ARGV", "KEYS", "bit", "cjson", "cmsgpack", "redis", "struct" }
