package dev.isthmus.gateway.catalogue;

import com.fasterxml.jackson.annotation.JsonProperty;

/**
 * Identifies one server of an upstream.
 *
 * @param upstream the configured name; clients may see it
 * @param label distinguishes the servers of the upstream, such as a replica or target; only for operators
 */
public record ServerId(
        String upstream, @JsonProperty("server") String label) {}
