/** All routes of the control plane with their access rules. */
import type { FastifyInstance } from 'fastify'
import type { CustomerLookup } from '../billing/customer-lookup.ts'
import type { LiveCatalogue } from '../billing/quote/live-catalogue.ts'
import type { Audit } from '../catalog/audit/audit.ts'
import type { Catalog } from '../catalog/connection.ts'
import type { SettingsCache } from '../catalog/settings/current-settings.ts'
import type { Config } from '../config/schema.ts'
import type { EntityApi } from '../entities/api.ts'
import type { CheckFileType } from '../file-types/check-report.ts'
import type { CycleParts } from '../jobs/cycle/cycle.ts'
import type { CardGuesses } from '../prepaid/cards/guesses.ts'
import type { ReportParts } from '../reports/parts.ts'
import { type Clock, realTimeOf } from '../runtime/clock.ts'
import type { Logger } from '../runtime/log.ts'
import type { Metrics } from '../runtime/metrics.ts'
import type { RedisConnection } from '../store/redis.ts'
import { addActionRoutes } from './actions/routes.ts'
import { ACTIONS } from './actions/table.ts'
import { addApiPages } from './api-pages.ts'
import type { Auth } from './auth/auth.ts'
import type { ClockMover } from './clock/move.ts'
import { addClockRoutes } from './clock/routes.ts'
import { addConsole } from './console/files.ts'
import { announceCustomerChange } from './customer-changes.ts'
import { HEALTH_ENDPOINTS, type HealthChecks } from './health.ts'
import { HEARTBEAT_ENDPOINT, INTERFACE_VERSION } from './heartbeat.ts'
import { addEndpoints } from './http/endpoint.ts'
import { addEntityApi } from './http/entity-routes.ts'
import { lazyIntake } from './lazy-intake.ts'
import { addLiveRoutes } from './live/routes.ts'
import { METRICS_ENDPOINT } from './metrics.ts'
import { chargingDocument } from './openapi/charging.ts'
import { addPaymentRoutes } from './payments/routes.ts'
import type { Payments } from './payments.ts'
import { addReportRoutes } from './reports/routes.ts'
import { createCategories } from './settings/categories.ts'
import { addSettingsRoutes } from './settings/routes.ts'

export interface RouteParts {
  readonly config: Config
  readonly catalog: Catalog
  readonly redis: RedisConnection
  readonly clock: Clock
  readonly clockMover: ClockMover
  readonly settings: SettingsCache
  readonly metrics: Metrics
  readonly log: Logger
  readonly audit: Audit
  readonly auth: Auth
  readonly entityApi: EntityApi
  readonly payments: Payments
  readonly cycle: CycleParts
  readonly lookup: CustomerLookup
  readonly reports: ReportParts
  readonly liveCatalogue: LiveCatalogue
  readonly checkFileType: CheckFileType | undefined
  readonly cardGuesses: CardGuesses
  readonly health: Pick<
    HealthChecks,
    'isRedisFit' | 'canRedisWrite' | 'canMongoWrite' | 'areChangesFinished' | 'hasUsers'
  >
}

export function addRoutes(server: FastifyInstance, parts: RouteParts): void {
  const { config, catalog, redis, clock, metrics, log, audit, auth, entityApi } = parts
  const { openPaths } = config.admin
  const health = { ...parts.health, redis, catalog, partitions: config.ledger.partitions }
  addEndpoints(server, [HEARTBEAT_ENDPOINT], { redis, catalog }, openPaths)
  addEndpoints(server, HEALTH_ENDPOINTS, health, openPaths)
  addEndpoints(server, [METRICS_ENDPOINT], { redis, metrics, log }, openPaths)
  addLiveRoutes(server, { config, clock, log, metrics, health, guard: auth.guard })
  const { fields } = entityApi
  const { isAuthenticated } = auth
  const charging = () => chargingDocument(config, INTERFACE_VERSION)
  const { port } = config.admin
  addApiPages(server, { fields, openPaths, port, charging, isAuthenticated }, log)
  addConsole(server)
  auth.addRoutes(server)
  const categories = createCategories(config)
  const admit = auth.guard.admit
  // Settings contain clients and their validity, which logins compare with the real time.
  const changes = { catalog, audit, clock: realTimeOf(clock), categories, current: parts.settings }
  addSettingsRoutes(server, { ...changes, admit, log })
  const { timeZone } = config.rating
  addClockRoutes(server, { mover: parts.clockMover, admit, log, timeZone })
  addEntities(server, parts)
  addActions(server, parts)
  addReportRoutes(server, { ...parts.reports, clock }, log)
  addPaymentRoutes(
    server,
    parts.payments,
    (request, parameters, usual) =>
      auth.admitAction(request, parameters, { collection: 'api', name: 'cards', usual }),
    log,
  )
}

function addEntities(server: FastifyInstance, { entityApi, auth, log }: RouteParts): void {
  addEntityApi(
    server,
    entityApi,
    async (request, parameters, called) => {
      if (called === null) return auth.guard.admit(request, parameters, 'user')
      const { definition, action } = called
      const usual = definition.actions[action]?.roles ?? []
      const required = { collection: definition.name, name: action, usual }
      return auth.admitAction(request, parameters, required)
    },
    log,
  )
}

function addActions(server: FastifyInstance, parts: RouteParts): void {
  const { config, catalog, redis, clock, log, audit, auth, entityApi } = parts
  const { ledger } = entityApi.stores
  const intake = lazyIntake({ catalog, ledger, clock, config })
  server.addHook('onClose', () => intake.close())
  addActionRoutes(server, {
    catalog,
    ledger,
    customerChanged: (change) => announceCustomerChange({ redis, ledger, clock }, change),
    audit,
    clock,
    config,
    log,
    payments: parts.payments,
    entityApi,
    cycle: parts.cycle,
    lookup: parts.lookup,
    reports: parts.reports,
    liveCatalogue: parts.liveCatalogue,
    checkFileType: parts.checkFileType,
    intake: intake.open,
    cardGuesses: parts.cardGuesses,
    actions: ACTIONS,
    permits: auth.permits,
    async admit(request, parameters, action) {
      if (action === null) return auth.guard.admit(request, parameters, 'user')
      const { family: collection = 'api', name, access } = action
      return auth.admitAction(request, parameters, { collection, name, usual: access })
    },
  })
}
