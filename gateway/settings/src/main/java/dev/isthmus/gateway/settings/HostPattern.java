package dev.isthmus.gateway.settings;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/** The text is a host name, an IP address, {@code *.SUFFIX}, or {@code *} for all hosts. */
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.RECORD_COMPONENT)
public @interface HostPattern {}
