/**
 * The configuration file: its records, its reading and its checks.
 */
@NullMarked
package dev.isthmus.gateway.settings;

import org.jspecify.annotations.NullMarked;
