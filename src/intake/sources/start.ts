/** The role `sources`: watches `intake.sources`. */
import { randomInt } from 'node:crypto'
import { join, resolve } from 'node:path'
import { openCatalog } from '../../catalog/connection.ts'
import { patienceOf } from '../../catalog/patience.ts'
import type { Config } from '../../config/schema.ts'
import { createLedger } from '../../ledger/ledger.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { IntakeMetrics } from '../../runtime/intake-metrics.ts'
import type { Logger } from '../../runtime/log.ts'
import { openExpiringKeys } from '../../store/expiring.ts'
import { openRedis, waitForRedis } from '../../store/redis.ts'
import { openPlace } from '../../transfer/open-place.ts'
import { openIntake } from '../open-intake.ts'
import { sourcesOf } from './settings.ts'
import { SourceWatch } from './source-watch.ts'

export interface IntakeRoleOptions {
  /** With resolved addresses of both stores. */
  readonly config: Config
  readonly log: Logger
  readonly metrics: IntakeMetrics
  readonly clock: Clock
}

const TOKEN_MAX = 2 ** 47

/** Throws `SettingError` if there is no source. */
export async function startIntake(options: IntakeRoleOptions): Promise<{ stop(): Promise<void> }> {
  const { config, log, metrics, clock } = options
  const sources = sourcesOf(config.intake.sources).map((settings) => ({
    settings,
    place: openPlace(config.transfer, settings.place),
  }))
  const ending = new AbortController()
  const { signal } = ending
  const catalog = await openCatalog({ ...config.mongo, appName: 'tollgate-intake' })
  const redis = openRedis(config.redis, log)
  await waitForRedis(redis, config.redis.connectTimeoutMs)
  const ledger = createLedger(redis, config.ledger, randomInt(1, TOKEN_MAX))
  const patience = {
    ...patienceOf(Number.POSITIVE_INFINITY, (reason) => {
      if (reason === null) log.info('the intake of usage records continues')
      else log.warn({ reason }, 'the intake of usage records waits')
    }),
    signal,
  }
  const intake = await openIntake({ catalog, ledger, clock, config, patience })
  const keys = openExpiringKeys(redis, 'intake')
  // One file at a time: the worker and its memory are shared.
  let last: Promise<unknown> = Promise.resolve()
  const inTurn = <T>(act: () => Promise<T>): Promise<T> => {
    const next = last.then(act)
    last = next.catch(() => undefined)
    return next
  }
  const watches = sources.map(({ settings, place }) => {
    const spool = join(resolve(config.data.dir), 'intake', settings.name)
    const take: typeof intake.take = (...given) => inTurn(() => intake.take(...given))
    const common = { catalog, intake, keys, metrics, log, signal }
    const { pollMs } = config.intake
    return new SourceWatch({ ...common, settings, place, spool, take, pollMs }).run()
  })
  return {
    async stop() {
      ending.abort()
      await Promise.all(watches)
      await intake.close()
      await Promise.all([...sources.map(({ place }) => place.close()), redis.close()])
      await catalog.close()
    },
  }
}
