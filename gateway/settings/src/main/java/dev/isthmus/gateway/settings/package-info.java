/**
 * The configuration file: its records, reader, checks, JSON Schema and reference. Starting anything from it does not
 * belong here.
 */
@NullMarked
package dev.isthmus.gateway.settings;

import org.jspecify.annotations.NullMarked;
