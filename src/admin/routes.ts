/** All routes of the control plane with their access rules. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Audit } from '../catalog/audit/audit.ts'
import type { Catalog } from '../catalog/connection.ts'
import type { Config } from '../config/schema.ts'
import { type Clock, realTimeOf } from '../runtime/clock.ts'
import type { Logger } from '../runtime/log.ts'
import type { Metrics } from '../runtime/metrics.ts'
import type { RedisConnection } from '../store/redis.ts'
import { addActionRoutes } from './actions/routes.ts'
import { ACTIONS } from './actions/table.ts'
import { addApiPages } from './api-pages.ts'
import type { RouteAccess } from './auth/access.ts'
import type { Auth } from './auth/auth.ts'
import type { Caller } from './auth/caller.ts'
import type { ClockMover } from './clock/move.ts'
import { addClockRoutes } from './clock/routes.ts'
import type { CycleParts } from './cycle/cycle.ts'
import { errorHandler } from './entities/answer.ts'
import type { EntityApi } from './entities/api.ts'
import { RequestError } from './entities/errors.ts'
import { readParameters, registerBodies } from './entities/requests/body.ts'
import type { SentParameters } from './entities/requests/raw-parameters.ts'
import { addEntityApi } from './entities/routes.ts'
import { addHealth, type HealthOptions } from './health.ts'
import { addHeartbeat } from './heartbeat.ts'
import { addMetrics } from './metrics.ts'
import type { Payments } from './payments/payments.ts'
import { addPaymentRoutes } from './payments/routes.ts'
import { NODE_ENDPOINTS, PLANNED_ENDPOINTS } from './permissions/endpoints.ts'
import type { ReportParts } from './reports/parts.ts'
import { addReportRoutes } from './reports/routes.ts'
import { createCategories } from './settings/categories.ts'
import { addSettingsRoutes } from './settings/routes.ts'

export interface RouteParts {
  readonly config: Config
  readonly catalog: Catalog
  readonly redis: RedisConnection
  readonly clock: Clock
  readonly clockMover: ClockMover
  readonly metrics: Metrics
  readonly log: Logger
  readonly audit: Audit
  readonly auth: Auth
  readonly entityApi: EntityApi
  readonly payments: Payments
  readonly cycle: CycleParts
  readonly reports: ReportParts
  readonly health: Pick<
    HealthOptions,
    'isRedisFit' | 'canRedisWrite' | 'areChangesFinished' | 'hasUsers'
  >
}

export function addRoutes(server: FastifyInstance, parts: RouteParts): void {
  const { config, catalog, redis, clock, metrics, log, audit, auth, entityApi } = parts
  const accessTo = (name: Config['admin']['openPaths'][number]): RouteAccess =>
    config.admin.openPaths.includes(name) ? 'public' : NODE_ENDPOINTS[name].access
  addHeartbeat(server, { redis, catalog, access: accessTo('heartbeat') })
  const { partitions } = config.ledger
  const health = { ...parts.health, redis, catalog, partitions }
  const catalogueAccess = NODE_ENDPOINTS.catalogue.access
  addHealth(server, { ...health, access: accessTo('health'), catalogueAccess })
  addMetrics(server, { redis, metrics, log, access: accessTo('metrics') })
  const { fields } = entityApi
  addApiPages(
    server,
    { fields, access: accessTo('docs'), isAuthenticated: auth.isAuthenticated },
    log,
  )
  auth.addRoutes(server)
  const categories = createCategories(config)
  const admit = auth.guard.admit
  // Settings contain clients and their validity, which logins compare with the real time.
  const changes = { catalog, audit, clock: realTimeOf(clock), categories }
  addSettingsRoutes(server, { ...changes, admit, log })
  const { timeZone } = config.rating
  addClockRoutes(server, { mover: parts.clockMover, admit, log, timeZone })
  addEntityApi(
    server,
    entityApi,
    async (request, sent, called) => {
      if (called === null) return admit(request, sent, 'user')
      const { definition, action } = called
      const usual = definition.actions[action]?.roles ?? []
      const wanted = { collection: definition.name, name: action, usual }
      return auth.admitAction(request, sent, wanted)
    },
    log,
  )
  addActionRoutes(server, {
    catalog,
    ledger: entityApi.stores.ledger,
    audit,
    clock,
    config,
    log,
    payments: parts.payments,
    cycle: parts.cycle,
    reports: parts.reports,
    actions: ACTIONS,
    permits: auth.permits,
    async admit(request, sent, action) {
      if (action === null) return admit(request, sent, 'user')
      const { family: collection = 'api', name, access } = action
      return auth.admitAction(request, sent, { collection, name, usual: access })
    },
  })
  addReportRoutes(server, { ...parts.reports, clock }, log)
  addPaymentRoutes(
    server,
    parts.payments,
    (request, sent, usual) =>
      auth.admitAction(request, sent, { collection: 'api', name: 'cards', usual }),
    log,
  )
  addPlanned(
    server,
    (request, sent, name, usual) =>
      auth.admitAction(request, sent, { collection: 'api', name, usual }),
    log,
  )
}

/** Authorises a caller for an action of the action API, or throws. */
type AuthorizeAction = (
  request: FastifyRequest,
  sent: SentParameters,
  action: string,
  usual: RouteAccess,
) => Promise<Caller>

/** Endpoints of a later version. Unauthorised callers do not learn that they are missing. */
function addPlanned(
  server: FastifyInstance,
  authorize: AuthorizeAction,
  log: Pick<Logger, 'error'>,
): void {
  server.register(async (routes) => {
    registerBodies(routes)
    routes.setErrorHandler(errorHandler(log))
    for (const { method, path, access } of PLANNED_ENDPOINTS) {
      routes.route({
        method: method === 'GET' ? ['GET', 'POST'] : 'POST',
        url: path,
        config: { access: 'asked' },
        async handler(request, reply) {
          const { sent } = await readParameters(request, reply)
          await authorize(request, sent, path.split('/').at(-1) ?? '', access)
          throw new RequestError(404, `${path} is not part of this version`)
        },
      })
    }
  })
}
