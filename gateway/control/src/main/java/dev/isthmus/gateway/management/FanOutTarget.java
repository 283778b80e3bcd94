package dev.isthmus.gateway.management;

import dev.isthmus.gateway.catalogue.ServerId;
import dev.isthmus.gateway.fleet.ReplicaStatus;
import dev.isthmus.oip.ModelRef;

/**
 * One of the servers that an operation is asked of.
 *
 * @param model what the operation's model is called there
 */
record FanOutTarget(ReplicaStatus member, ModelRef model) {

    ServerId source() {
        return new ServerId(member.upstream(), member.label());
    }
}
