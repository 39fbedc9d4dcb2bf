/**
 * `tollgate external check`: calls the three addresses of a customer system with an example
 * account, and says what is wrong with the answers.
 */
import { randomUUID } from 'node:crypto'
import { calendarOf } from '../billing/credit/credits.ts'
import { cycleSpan, keyAt } from '../billing/cycle/cycle-key.ts'
import { askBillable } from '../billing/run/open-accounts.ts'
import { sealerOf } from '../catalog/sealing/secret-keys.ts'
import { customFieldsOf } from '../catalog/settings/customers/customer-fields.ts'
import {
  type CustomerCallSettings,
  type CustomerSettings,
  customerSettingsOf,
} from '../catalog/settings/customers/customer-settings.ts'
import { readCategory } from '../catalog/settings/stored-config.ts'
import type { Config } from '../config/schema.ts'
import { formatDate } from '../domain/date-format.ts'
import { isObject } from '../domain/fields.ts'
import type { BillableQuery, BillableRequest } from '../external/customers/billable.ts'
import { checkBillable, checkDetails, type Finding } from '../external/customers/check.ts'
import { CustomerSystemError } from '../external/customers/errors.ts'
import { type CustomerHttp, createCustomerHttp } from '../external/customers/http.ts'
import type { CustomerQuery, QueryParam } from '../external/customers/queries.ts'
import type { CustomerKind, RevisionContext } from '../external/customers/revisions.ts'
import { monotonicMs } from '../runtime/clock.ts'
import { UsageError } from './errors.ts'
import { type OptionValues, optionalText } from './options.ts'
import type { Shell } from './shell.ts'
import { withCatalog } from './stores.ts'

/** The result of a call. */
interface CheckedCall {
  readonly call: 'billable' | CustomerKind
  /** Query or page, for the operator. */
  readonly asked: string
  readonly milliseconds: number
  readonly findings: readonly Finding[]
}

interface Example {
  readonly aid: number
  readonly sid: number
}

/** Accounts of the pages whose order is checked. */
const SIZE = 2
const DETAILS_BYTES_MAX = 1024 * 1024
const DAY_FORMAT = 'YYYY-MM-DD'

/** Returns 1 if an answer has an error; warnings are shown only. */
export async function checkExternal(shell: Shell, options: OptionValues): Promise<0 | 1> {
  const example = { aid: numberIn(options, 'aid'), sid: numberIn(options, 'sid') }
  const config = shell.config()
  const calls = await withCatalog(config, async (catalog, clock) => {
    const { value } = await readCategory(catalog, 'subscribers')
    const { privateRanges } = config.external
    const http = createCustomerHttp({ privateRanges, connectionsMax: 1 })
    const { timeZone } = config.rating
    try {
      return await new Check({
        http,
        settings: customerSettingsOf(value, sealerOf(config)),
        context: { timeZone, customFields: customFieldsOf(value) },
        config,
        nowMs: clock.nowMs(),
      }).run(example)
    } finally {
      await http.close()
    }
  })
  const isWrong = calls.some(({ findings }) => findings.some(({ level }) => level === 'error'))
  if (options['json'] === true) shell.print(JSON.stringify({ ok: !isWrong, calls }))
  else for (const line of calls.flatMap(linesOf)) shell.print(line)
  return isWrong ? 1 : 0
}

function numberIn(options: OptionValues, name: string): number {
  const text = optionalText(options, name)
  if (text === undefined) throw new UsageError(`--${name} is missing: an example`)
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text)
  throw new UsageError(`--${name} must be a number, not '${text}'`)
}

function linesOf({ call, asked, milliseconds, findings }: CheckedCall): string[] {
  const count = findings.length
  const verdict = count === 0 ? 'ok' : `${count} finding${count === 1 ? '' : 's'}`
  return [
    `${call} (${asked}): ${verdict}, ${milliseconds} ms`,
    ...findings.map(({ level, field, problem }) => {
      return `  ${level}: ${field === '' ? 'the answer' : field} ${problem}`
    }),
  ]
}

interface CheckParts {
  readonly http: CustomerHttp
  readonly settings: CustomerSettings
  readonly context: RevisionContext
  readonly config: Pick<Config, 'rating' | 'billing'>
  readonly nowMs: number
}

class Check {
  readonly #parts: CheckParts

  constructor(parts: CheckParts) {
    this.#parts = parts
  }

  async run({ aid, sid }: Example): Promise<CheckedCall[]> {
    const { settings } = this.#parts
    return [
      await this.#billed(`aids ${aid}`, { page: 0, size: 1, aids: String(aid) }, [aid], sid),
      ...(await this.#pages()),
      await this.#details('account', settings.account, {
        key: 'aid',
        operator: 'equal',
        value: aid,
      }),
      await this.#details('subscriber', settings.subscriber, {
        key: 'sid',
        operator: 'equal',
        value: sid,
      }),
    ]
  }

  /** Two pages that follow each other: sorted, and without an account of both. */
  async #pages(): Promise<CheckedCall[]> {
    const first = await this.#billable(`page 0 of ${SIZE}`, { page: 0, size: SIZE }, 0, null)
    const data = isObject(first.answer) ? first.answer['data'] : null
    const rows: unknown[] = Array.isArray(data) ? data : []
    const aids = rows
      .map((row) => (isObject(row) ? Number(row['aid']) : 0))
      .filter((aid) => aid > 0)
    if (new Set(aids).size < SIZE) return [first.call]
    const last = Math.max(...aids)
    const next = await this.#billable(`page 1 of ${SIZE}`, { page: 1, size: SIZE }, last, null)
    return [first.call, next.call]
  }

  async #billed(
    asked: string,
    filter: Pick<BillableRequest, 'page' | 'size' | 'aids'>,
    aids: readonly number[],
    sid: number,
  ): Promise<CheckedCall> {
    const { call, answer } = await this.#billable(asked, filter, 0, aids)
    const data = isObject(answer) ? answer['data'] : null
    if (!Array.isArray(data)) return call
    const has = (name: string, value: number) =>
      data.some((row) => isObject(row) && Number(row[name]) === value)
    const absent: Finding[] = [
      ...aids.filter((aid) => !has('aid', aid)).map((aid) => `has no account ${aid}`),
      ...(has('sid', sid) ? [] : [`has no subscriber ${sid}`]),
    ].map((problem) => ({ level: 'error', field: 'data', problem }))
    return { ...call, findings: [...call.findings, ...absent] }
  }

  async #billable(
    asked: string,
    filter: Pick<BillableRequest, 'page' | 'size' | 'aids'>,
    after: number,
    aids: readonly number[] | null,
  ): Promise<{ call: CheckedCall; answer: unknown }> {
    const { http, settings, context, config, nowMs } = this.#parts
    const calendar = calendarOf(config)
    const { startMs, endMs } = cycleSpan(keyAt(nowMs, calendar), calendar)
    const format = settings.billable?.singleDayCycleFormat || DAY_FORMAT
    const date = (atMs: number) => formatDate(format, atMs, context.timeZone)
    const request = { start_date: date(startMs), end_date: date(endMs), ...filter }
    const query: BillableQuery = { request, after, aids, startMs, endMs }
    return timed(
      'billable',
      asked,
      () => askBillable(http, settings.billable, request),
      (answer) => checkBillable(answer, query, context),
    )
  }

  async #details(
    kind: CustomerKind,
    call: CustomerCallSettings | null,
    param: QueryParam,
  ): Promise<CheckedCall> {
    const { http, context, nowMs } = this.#parts
    const time = `${new Date(nowMs).toISOString().slice(0, 19)}+00:00`
    const query: CustomerQuery = { id: randomUUID(), time, params: [param], limit: 1 }
    const ask = () => {
      if (call !== null) return http.post(call, { json: { query: [query] } }, DETAILS_BYTES_MAX)
      const reason = `subscribers.${kind}.type is not external`
      return Promise.reject(new CustomerSystemError('settings', reason))
    }
    const result = await timed(kind, `${param.key} ${param.value}`, ask, (answer) =>
      checkDetails(kind, answer, [query], context),
    )
    return result.call
  }
}

async function timed(
  name: CheckedCall['call'],
  asked: string,
  ask: () => Promise<unknown>,
  check: (answer: unknown) => Finding[],
): Promise<{ call: CheckedCall; answer: unknown }> {
  const startMs = monotonicMs()
  const milliseconds = () => Math.round(monotonicMs() - startMs)
  try {
    const answer = await ask()
    const call = { call: name, asked, milliseconds: milliseconds(), findings: check(answer) }
    return { call, answer }
  } catch (error) {
    if (!(error instanceof CustomerSystemError)) throw error
    const findings: Finding[] = [
      { level: 'error', field: '', problem: `cannot be read: ${error.reason}` },
    ]
    return { call: { call: name, asked, milliseconds: milliseconds(), findings }, answer: null }
  }
}
