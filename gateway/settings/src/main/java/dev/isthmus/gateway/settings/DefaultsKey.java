package dev.isthmus.gateway.settings;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * A map of sections has a key beside it with settings for all of them. They are put into each section that does not have its
 * own when a file is read, so that nothing else knows of them.
 */
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.RECORD_COMPONENT)
@interface DefaultsKey {

    /** The key. */
    String value();

    /** What it means. */
    String doc();
}
