/** The source of accounts that the stored settings select. */
import type { Catalog } from '../../catalog/connection.ts'
import { keepCustomers } from '../../catalog/feed/kept-customers.ts'
import { type SecretSettings, sealerOf } from '../../catalog/sealing/secret-keys.ts'
import { customFieldsOf } from '../../catalog/settings/customers/customer-fields.ts'
import {
  type BillableSettings,
  customerSettingsOf,
} from '../../catalog/settings/customers/customer-settings.ts'
import { BILLRUN } from '../../catalog/settings/money/billrun-settings.ts'
import { readCategory } from '../../catalog/settings/stored-config.ts'
import type { Config } from '../../config/schema.ts'
import type { BillableAccount, BillableRequest } from '../../external/customers/billable.ts'
import { CustomerSystemError } from '../../external/customers/errors.ts'
import {
  type CallBody,
  type CustomerHttp,
  createCustomerHttp,
} from '../../external/customers/http.ts'
import {
  type RevisionContext,
  readAccountRevision,
  readSubscriberRevision,
} from '../../external/customers/revisions.ts'
import { type Clock, realTimeOf } from '../../runtime/clock.ts'
import { askByNumber, type CustomerLookup } from '../customer-lookup.ts'
import type { OpenAccounts } from './account-source.ts'
import { storedAccounts } from './accounts.ts'
import { externalAccounts } from './external-accounts.ts'

export interface Accounts {
  readonly openAccounts: OpenAccounts
  readonly lookup: CustomerLookup
  /** Ends connections to the customer system. */
  close(): Promise<void>
}

export type AccountsConfig = SecretSettings & Pick<Config, 'external' | 'rating'>

const CONNECTIONS_MAX = 4
const MIB = 1024 * 1024
/** Limits of an answer: of a small one, for each account, and of any. */
const BYTES = { least: 16 * MIB, perAccount: 64 * 1024, most: 256 * MIB }

export function createAccounts(catalog: Catalog, config: AccountsConfig, clock: Clock): Accounts {
  const { privateRanges } = config.external
  const sealer = sealerOf(config)
  const http = createCustomerHttp({ privateRanges, connectionsMax: CONNECTIONS_MAX })
  const { timeZone } = config.rating
  const keep = (ttlMs: number) => (accounts: readonly BillableAccount[]) => {
    const usable = accounts.filter(({ problem }) => problem === null)
    return keepCustomers(catalog, usable, { nowMs: realTimeOf(clock).nowMs(), ttlMs })
  }
  const read = async () => {
    const { value } = await readCategory(catalog, 'subscribers')
    const context: RevisionContext = { timeZone, customFields: customFieldsOf(value) }
    return { ...customerSettingsOf(value, sealer), context }
  }
  return {
    async openAccounts() {
      const { account, billable, context, fillsFromBillable } = await read()
      if (account === null) return storedAccounts(catalog)
      const { value: billrun } = await readCategory(catalog, 'billrun')
      return externalAccounts({
        ask: (request) => askBillable(http, billable, request),
        size: billable?.size ?? 1,
        dateFormat: billable?.singleDayCycleFormat ?? '',
        context,
        withNextCycle: BILLRUN.read(billrun).upfront.billable_next_cycle,
        ...(fillsFromBillable && { onAnswer: keep(account.ttlMs) }),
      })
    },
    lookup: {
      async accounts(aids, atMs) {
        const { account: settings, context } = await read()
        if (settings === null) return null
        const readOne = (value: unknown, path: string) => readAccountRevision(value, path, context)
        return askByNumber({ http, settings, read: readOne }, 'aid', aids, atMs)
      },
      async subscribers(sids, atMs) {
        const { subscriber: settings, context } = await read()
        if (settings === null) return null
        const readOne = (value: unknown, path: string) =>
          readSubscriberRevision(value, path, context)
        return askByNumber({ http, settings, read: readOne }, 'sid', sids, atMs)
      },
    },
    close: () => http.close(),
  }
}

/** Sends the request. Rejects with `CustomerSystemError`. */
export function askBillable(
  http: CustomerHttp,
  billable: BillableSettings | null,
  request: BillableRequest,
): Promise<unknown> {
  if (billable === null) {
    const reason = 'subscribers.billable.url is not set'
    return Promise.reject(new CustomerSystemError('settings', reason))
  }
  const body: CallBody =
    billable.encoding === 'form' ? { form: formOf(request) } : { json: request }
  const bytes = Math.max(BYTES.least, request.size * BYTES.perAccount)
  return http.post(billable, body, Math.min(bytes, BYTES.most))
}

/** As PHP encodes a list: each member by its index. */
function formOf({ invoicing_days: days = [], ...request }: BillableRequest) {
  const plain = Object.entries(request).map(([name, value]) => [name, String(value)] as const)
  const list = days.map((day, index) => [`invoicing_days[${index}]`, String(day)] as const)
  return Object.fromEntries([...plain, ...list])
}
