/**
 * What is wrong with the gateway, its servers and its models now, each with its cause and the next step. It is derived
 * from the meters, health checks, ramps and reloads every few seconds. It has no text of a request or response.
 */
@NullMarked
package dev.isthmus.gateway.problems;

import org.jspecify.annotations.NullMarked;
