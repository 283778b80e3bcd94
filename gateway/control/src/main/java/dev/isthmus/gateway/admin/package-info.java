/**
 * The admin listener: a small HTTP/1.1 server for metrics, health, the active configuration and changes, on a port of
 * its own. Other packages add routes; no tensor data passes here.
 */
@NullMarked
package dev.isthmus.gateway.admin;

import org.jspecify.annotations.NullMarked;
