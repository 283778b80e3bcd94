package dev.isthmus.gateway.settings;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Marks a map of sections that has a sibling key with defaults for all of them. The reader copies the defaults into
 * each section that lacks them, so no other code sees them.
 */
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.RECORD_COMPONENT)
@interface DefaultsKey {

    /** The sibling key. */
    String value();

    String doc();
}
