package dev.isthmus.gateway.management;

import dev.isthmus.gateway.catalogue.Source;
import dev.isthmus.gateway.fleet.Member;
import dev.isthmus.oip.ModelRef;

/**
 * One of the servers that an operation is asked of.
 *
 * @param model what the operation's model is called there
 */
record ServerAsked(Member member, ModelRef model) {

    Source source() {
        return new Source(member.upstream(), member.label());
    }
}
