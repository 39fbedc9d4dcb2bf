/** `tollgate clock`: shows the clock of the installation, or moves a test clock in the stores. */
import type { MovedClock } from '../admin/clock/answers.ts'
import { type ClockMover, createClockMover } from '../admin/clock/move.ts'
import { createEntityApi } from '../admin/entity-api.ts'
import { jobHandlers } from '../admin/job-handlers.ts'
import { createCharges } from '../admin/payments.ts'
import { createAudit } from '../catalog/audit/audit.ts'
import { createCurrentSettings } from '../catalog/settings/current-settings.ts'
import type { Config } from '../config/schema.ts'
import { createCycle } from '../jobs/cycle/cycle.ts'
import { createReports } from '../reports/parts.ts'
import { ApiError } from '../requests/errors.ts'
import { createLogger } from '../runtime/log.ts'
import { createMetrics } from '../runtime/metrics.ts'
import { CommandError } from './errors.ts'
import { operator } from './operator.ts'
import { type OptionValues, optionalInstant } from './options.ts'
import { aligned } from './owners.ts'
import type { Shell } from './shell.ts'
import { LEDGER_LOST, type Stores, withStores } from './stores.ts'

export async function clock(shell: Shell, options: OptionValues): Promise<0> {
  const config = shell.config()
  const toMs = optionalInstant(options, 'to', config.rating.timeZone)
  const isJson = options['json'] === true
  await withStores(config, async (stores) => {
    const mover = moverOf(stores, config)
    if (toMs === undefined) {
      if (isJson) shell.print(JSON.stringify(mover.show()))
      else shell.print(moverText(mover))
      return
    }
    if (stores.lost.length > 0) throw new CommandError(LEDGER_LOST)
    const moved = await mover.move(toMs, operator()).catch((error: unknown) => {
      throw error instanceof ApiError ? new CommandError(error.message, { cause: error }) : error
    })
    if (isJson) shell.print(JSON.stringify(moved))
    else for (const line of movedText(moved)) shell.print(line)
  })
  return 0
}

function moverOf({ catalog, ledger, clock, accounts }: Stores, config: Config): ClockMover {
  const { openAccounts, lookup } = accounts
  const log = createLogger({ name: 'cli', level: 'silent' })
  const metrics = createMetrics({ node: '', role: 'admin' })
  const api = createEntityApi({ catalog, ledger, clock, config, lookup, log })
  const settings = createCurrentSettings(catalog, clock, config.catalog.pollMs)
  const charges = createCharges({ catalog, clock, config, settings, log, lookup })
  const cycle = createCycle({ catalog, clock, config, log, openAccounts })
  const reports = createReports({ catalog, reader: catalog, config, fields: api.fields })
  const handlers = jobHandlers(api, { config, metrics, payments: { charges }, cycle, reports })
  const due = { catalog, ledger, clock, config, metrics, handlers, log }
  return createClockMover({ ...due, audit: createAudit(catalog), charges })
}

function moverText(mover: ClockMover): string {
  const { now, ahead_ms, test } = mover.show()
  const time = now.toISOString()
  if (ahead_ms === 0 && !test) return `${time}, the real time`
  const seconds = Math.round(Math.abs(ahead_ms) / 1000)
  const side = ahead_ms < 0 ? 'behind' : 'ahead of'
  return `${time}, ${seconds} s ${side} the real time${test ? '; a test clock' : ''}`
}

function movedText({ from, now, ran }: MovedClock): string[] {
  const rows = ran.map(({ job, subject, at, counts, error }) => {
    const done = Object.entries(counts).map(([name, count]) => `${name} ${count}`)
    return [at.toISOString(), job, subject, error ?? done.join(', ')]
  })
  const moved = `moved from ${from.toISOString()} to ${now.toISOString()}`
  if (rows.length === 0) return [`${moved}; nothing was due that had an effect`]
  return [moved, ...aligned([['at', 'job', 'subject', 'done'], ...rows])]
}
