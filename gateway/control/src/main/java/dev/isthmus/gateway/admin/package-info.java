/**
 * The operators' side: a small HTTP/1.1 server for metrics, health, the active configuration and changes, on a port of its
 * own. Others add what they have to show; no tensor passes here.
 */
@NullMarked
package dev.isthmus.gateway.admin;

import org.jspecify.annotations.NullMarked;
