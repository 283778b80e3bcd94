package dev.isthmus.gateway.cache;

/** 128 bits of the hash of a request: equal requests have equal keys. */
public record CacheKey(long high, long low) {}
