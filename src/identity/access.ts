/** Access rule of a route. */

/**
 * `public`: no authentication. `user`: any authenticated caller. A list: one of these roles
 * (`admin` is always sufficient). `checkedByRoute`: the handler itself calls `AuthGuard.admit`,
 * because the required roles depend on the parameters.
 */
export type RouteAccess = 'public' | 'user' | 'checkedByRoute' | readonly string[]

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Mandatory: a route without it cannot be registered. */
    access?: RouteAccess
    /**
     * Whether a request by GET changes nothing; otherwise callers that a browser identifies by
     * itself must use POST.
     */
    readsByGet?: true | ((request: FastifyRequest) => boolean)
    /** Polled by pages: does not extend the login session. */
    isPassive?: true
  }
}
