package dev.isthmus.gateway.catalogue;

/**
 * Who said something: one server of an upstream.
 *
 * @param upstream the name from the configuration; clients may see it
 * @param label tells the servers of the upstream apart, such as its replica or arm; only the admin side sees it
 */
public record ServerId(String upstream, String label) {}
