package dev.isthmus.local.repository;

/** Which versions are loaded. */
public record VersionPolicy() {}
