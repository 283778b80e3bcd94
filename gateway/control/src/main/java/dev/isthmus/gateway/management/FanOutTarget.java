package dev.isthmus.gateway.management;

import dev.isthmus.gateway.catalogue.ServerId;
import dev.isthmus.gateway.fleet.ReplicaStatus;
import dev.isthmus.oip.ModelRef;

/**
 * One of the servers that receive an operation.
 *
 * @param model the operation's model under its name there
 */
record FanOutTarget(ReplicaStatus member, ModelRef model) {

    ServerId source() {
        return new ServerId(member.upstream(), member.label());
    }
}
