/** `tollgate charge`: charges accounts through their payment gateways, directly on the store. */
import { createCharges } from '../admin/payments.ts'
import { createAccounts } from '../billing/run/open-accounts.ts'
import { createCurrentSettings } from '../catalog/settings/current-settings.ts'
import { chargeRunHandler } from '../jobs/charge-jobs.ts'
import { beginJob, readJob } from '../jobs/jobs.ts'
import { runJob } from '../jobs/runner.ts'
import { createLogger } from '../runtime/log.ts'
import { UsageError } from './errors.ts'
import { countsText, jobJson } from './job-list.ts'
import { operator } from './operator.ts'
import { type OptionValues, optionalList, optionalText } from './options.ts'
import type { Shell } from './shell.ts'
import { withCatalog } from './stores.ts'

/** Returns 1 if the run has failed; the control plane continues it then. */
export async function charge(shell: Shell, options: OptionValues): Promise<0 | 1> {
  const run = runOptionsOf(options)
  const config = shell.config()
  const log = createLogger({ name: 'cli', level: 'silent' })
  const job = await withCatalog(config, async (catalog, clock) => {
    const settings = createCurrentSettings(catalog, clock, config.catalog.pollMs)
    const accounts = createAccounts(catalog, config, clock)
    const { lookup } = accounts
    const charges = createCharges({ catalog, clock, config, settings, log, lookup })
    const subject = `run ${clock.nowMs()}`
    const request = { kind: 'charge', subject, options: run, actor: operator() } as const
    const begun = await beginJob({ catalog, clock }, request)
    const runner = { catalog, clock, config, log, handlers: { charge: chargeRunHandler(charges) } }
    await runJob(runner, begun, new AbortController().signal).finally(() => accounts.close())
    return (await readJob({ catalog }, begun._id)) ?? begun
  })
  if (options['json'] === true) shell.print(JSON.stringify(jobJson(job)))
  else if (job.error !== '') shell.print(`the control plane continues the charges: ${job.error}`)
  else shell.print(Object.keys(job.counts).length === 0 ? 'nothing to charge' : countsText(job))
  return job.error === '' ? 0 : 1
}

function runOptionsOf(options: OptionValues): Record<string, unknown> {
  const aids = numbersIn(options, 'aids')
  const exclude = numbersIn(options, 'exclude')
  if (aids !== undefined && exclude !== undefined) {
    throw new UsageError('give either --aids or --exclude')
  }
  const payMode = optionalText(options, 'pay-mode') ?? 'one_payment'
  if (payMode !== 'one_payment' && payMode !== 'multiple_payments') {
    throw new UsageError('--pay-mode must be one_payment or multiple_payments')
  }
  const reason = optionalText(options, 'reason') ?? ''
  return { payMode, reason, ...(aids && { aids }), ...(exclude && { exclude }) }
}

function numbersIn(options: OptionValues, name: string): number[] | undefined {
  const list = optionalList(options, name)
  if (list?.some((each) => !/^[1-9]\d{0,14}$/.test(each))) {
    throw new UsageError(`--${name} must be account numbers, separated by commas`)
  }
  return list?.map(Number)
}
