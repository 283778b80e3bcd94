package dev.isthmus.gateway.settings;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/** The text is a host name or IP address. */
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.RECORD_COMPONENT)
public @interface HostName {
    /** Whether it may be {@code *.SUFFIX}, or {@code *} for all hosts, as well. */
    boolean pattern() default false;
}
