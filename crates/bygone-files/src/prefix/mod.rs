//! Bucket prefixes: objects swept by their age or by the date in their key.
