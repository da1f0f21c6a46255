"""Client processes: they carry operations to servers, whatever protocol these run."""
