/** `tollgate balance add`: an idempotent operation on one balance. */
import { randomUUID } from 'node:crypto'
import { entityStoresOf } from '../admin/entity-api.ts'
import { type MoneyFormat, moneyFormat } from '../billing/currency.ts'
import type { Config } from '../config/schema.ts'
import type { PrepaidInclude } from '../domain/catalogue.ts'
import { beginOfLoad, InsufficientBalanceError } from '../domain/credit.ts'
import type { OperationLine } from '../domain/line.ts'
import { microsFrom, parseDecimal, toScale } from '../domain/money.ts'
import { FOREVER_MS } from '../domain/time.ts'
import { balancesOf } from '../entities/follow-ups.ts'
import { loadOwners } from '../ledger/loading.ts'
import { type CreditOperation, creditBucket } from '../ledger/operations.ts'
import { type BalanceEntry, performAudited } from '../prepaid/balances/operation-audit.ts'
import { createLogger } from '../runtime/log.ts'
import { CommandError, UsageError } from './errors.ts'
import { operator } from './operator.ts'
import {
  type OptionValues,
  optionalInstant,
  optionalNumber,
  optionalText,
  requiredText,
} from './options.ts'
import {
  accountOf,
  amountText,
  type CustomerStores,
  type OwnerSelector,
  ownerSelector,
} from './owners.ts'
import { findInclude } from './seed.ts'
import type { Shell } from './shell.ts'
import { type Stores, withOutcome, withStores } from './stores.ts'

export interface CreditCommand {
  owner: OwnerSelector
  includeId: number
  amountText: string
  operationId: string
  fromMs: number | undefined
  toMs: number | undefined
}

export async function addBalance(shell: Shell, options: OptionValues): Promise<0> {
  const config = shell.config()
  const command = readCreditCommand(options, config.rating.timeZone)
  const line = await withStores(config, (stores) => addCredit(stores, config, command))
  const money = moneyFormat(config.rating.currencyCode)
  shell.print(options['json'] === true ? JSON.stringify(line) : lineText(line, money))
  return 0
}

/** The operation and its audit record, which another process completes if this one ends. */
export async function addCredit(
  stores: Pick<Stores, 'ledger' | 'clock'> & CustomerStores,
  config: Config,
  command: CreditCommand,
): Promise<OperationLine> {
  const { catalog, ledger, accounts, clock } = stores
  const nowMs = clock.nowMs()
  const operation = await operationFor(stores, command, nowMs)
  const { operationId, aid, sid } = operation
  const settings = { attemptsMax: config.ledger.commitAttemptsMax }
  entityStoresOf({
    catalog,
    ledger,
    clock,
    config,
    lookup: accounts.lookup,
    log: createLogger({ name: 'cli', level: 'silent' }),
  })
  const payload = { actor: operator(), type: 'update', operationIds: [operationId], aid, sid }
  const entry: BalanceEntry = {
    kind: 'balances',
    payload,
    ...(sid !== 0 && { subject: balancesOf(sid) }),
  }
  try {
    const { operations } = await performAudited(catalog, { ...entry, payload }, async () => {
      return { operations: [await creditBucket(ledger, operation, settings, nowMs)] as const }
    })
    return operations[0]
  } catch (error) {
    if (error instanceof InsufficientBalanceError) {
      const money = moneyFormat(config.rating.currencyCode)
      throw new CommandError(error.textWith(money), { cause: error })
    }
    throw withOutcome(error, `done: repeat it with --operation-id ${operationId}`)
  }
}

function readCreditCommand(options: OptionValues, timeZone: string): CreditCommand {
  requiredText(options, 'include')
  const command = {
    owner: ownerSelector(options),
    includeId: optionalNumber(options, 'include') ?? 0,
    amountText: requiredText(options, 'amount'),
    operationId: optionalText(options, 'operation-id') ?? `cli-${randomUUID()}`,
    fromMs: optionalInstant(options, 'from', timeZone),
    toMs: optionalInstant(options, 'to', timeZone),
  }
  if (command.operationId === '') throw new UsageError('--operation-id must not be empty')
  return command
}

async function operationFor(
  stores: Pick<Stores, 'ledger'> & CustomerStores,
  command: CreditCommand,
  nowMs: number,
): Promise<CreditOperation> {
  const { catalog, ledger } = stores
  const include = await findInclude(catalog, command.includeId, nowMs)
  const { sid, aid } = command.owner
  const account = aid ?? (await accountOf(stores, sid ?? 0, nowMs))
  checkOwner(include, sid, account)
  const owner = sid ?? 0
  const [state] = await loadOwners(ledger, account, [owner])
  const known = state?.buckets.find(
    (bucket) =>
      bucket.prepaidIncludeId === include.externalId &&
      nowMs >= bucket.fromMs &&
      nowMs < bucket.toMs,
  )
  const fromMs = command.fromMs ?? beginOfLoad(nowMs)
  // A default end must not extend an existing bucket.
  const toMs = command.toMs ?? known?.toMs ?? FOREVER_MS
  if (toMs <= fromMs) throw new UsageError('--to must be after --from')
  return {
    include,
    amount: amountOf(command.amountText, include),
    fromMs,
    toMs,
    mode: 'inc',
    operationId: command.operationId,
    aid: account,
    sid: owner,
  }
}

function checkOwner(include: PrepaidInclude, sid: number | undefined, aid: number): void {
  const name = `prepaid include ${include.externalId} (${include.name})`
  if (include.shared && sid !== undefined) {
    throw new CommandError(`${name} is shared by the account: use --aid ${aid}`)
  }
  if (!include.shared && sid === undefined) {
    throw new CommandError(`${name} belongs to subscribers: use --sid`)
  }
}

function amountOf(text: string, { kind }: PrepaidInclude): number {
  const decimal = parseDecimal(text)
  const whole = decimal === null ? null : toScale(decimal, 0)
  const amount = kind === 'units' ? whole : microsFrom(text)
  if (amount === null || amount === 0) {
    const expected =
      kind === 'units' ? 'an integer' : 'a decimal with up to 6 digits after the point'
    throw new UsageError(`--amount must be ${expected} other than 0, not '${text}'`)
  }
  return amount
}

function lineText(line: OperationLine, money: MoneyFormat): string {
  const { aid, sid, operationId, prepaidIncludeId, kind, amount, before, after, repaid } = line
  const bucketKind = kind === 'units' ? 'units' : 'totalCost'
  const format = (value: number) => amountText(bucketKind, value, money)
  const whose = sid === 0 ? `account ${aid}` : `subscriber ${sid}`
  const ofDebt = repaid > 0 ? `, ${format(repaid)} of it repaid debt` : ''
  const change = `${format(before)} -> ${format(after)}`
  return (
    `${whose}, include ${prepaidIncludeId}: ${change} (${format(amount)}${ofDebt}), ` +
    `operation ${operationId}`
  )
}
