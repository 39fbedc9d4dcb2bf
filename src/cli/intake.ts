/** `tollgate intake`: charges the usage records of files, directly on the stores. */
import { statSync } from 'node:fs'
import { basename } from 'node:path'
import { type MoneyFormat, moneyFormat } from '../billing/currency.ts'
import { type Patience, patienceOf } from '../catalog/patience.ts'
import type { IntakeFileDocument } from '../catalog/records/usage/intake-documents.ts'
import { decimalText } from '../domain/money.ts'
import { FileCutOffError } from '../intake/chunks.ts'
import { type Intake, openIntake, RecordFileTypeError } from '../intake/open-intake.ts'
import { UnrecordedEntryError } from '../intake/recorded.ts'
import { FileTakenOverError } from '../intake/take-file.ts'
import { monotonicMs } from '../runtime/clock.ts'
import { WorkRate } from '../runtime/terminal.ts'
import { CommandError } from './errors.ts'
import { type OptionValues, requiredText } from './options.ts'
import type { Shell } from './shell.ts'
import { LEDGER_LOST, withStores, withStoreUrls } from './stores.ts'

/** Returns 1 if records were rejected, or if a file has failed. */
export async function intake(
  shell: Shell,
  files: readonly string[],
  options: OptionValues,
): Promise<0 | 1> {
  const typeName = requiredText(options, 'file-type')
  for (const file of files) {
    const found = statSync(file, { throwIfNoEntry: false })
    if (found === undefined) throw new CommandError(`there is no file ${file}`)
    // A pipe has no size, and cannot be read from where it was interrupted.
    if (!found.isFile()) throw new CommandError(`${file} is not a regular file`)
  }
  const { currencyCode } = shell.config().rating
  const money = moneyFormat(currencyCode)
  let isComplete = true
  await withIntake(shell, async (opened) => {
    const fileType = await opened.fileType(typeName)
    for (const path of files) {
      const progress = new FileProgress(shell)
      const taken = await opened
        .take(path, basename(path), fileType, (file) => progress.show(file))
        .finally(() => progress.end())
      if (options['json'] === true) shell.print(JSON.stringify(fileJson(taken)))
      else for (const line of reportOf(taken, money)) shell.print(line)
      isComplete &&= taken.state === 'done' && taken.rejected === 0
    }
  })
  return isComplete ? 0 : 1
}

const KNOWN = [RecordFileTypeError, FileTakenOverError, FileCutOffError, UnrecordedEntryError]

/** Runs `act` with an intake, which waits for stores as long as it takes. */
export async function withIntake<T>(shell: Shell, act: (intake: Intake) => Promise<T>): Promise<T> {
  const config = shell.config()
  const patience: Patience = patienceOf(Number.POSITIVE_INFINITY, (reason) =>
    shell.printError(reason === null ? 'it continues' : `${reason}; waiting`),
  )
  return withStores(config, async ({ catalog, ledger, clock, lost }) => {
    if (lost.length > 0) throw new CommandError(LEDGER_LOST)
    // Lines of a log would be between those of the output.
    const resolved = { ...withStoreUrls(config), log: { ...config.log, level: 'silent' as const } }
    const opened = await openIntake({ catalog, ledger, clock, config: resolved, patience })
    try {
      return await act(opened)
    } catch (error) {
      const isKnown = KNOWN.some((kind) => error instanceof kind)
      throw isKnown ? new CommandError((error as Error).message) : error
    } finally {
      await opened.close()
    }
  })
}

const TERMINAL_MS = 200
const LINES_MS = 10_000

/** Records per second, and the time left by the bytes of the file. */
class FileProgress {
  readonly #line: ReturnType<Shell['statusLine']>
  #records: WorkRate | null = null
  #bytes: WorkRate | null = null
  #shownMs = monotonicMs()

  constructor(shell: Shell) {
    this.#line = shell.statusLine()
  }

  show({ name, read, rejected, position, size }: Readonly<IntakeFileDocument>): void {
    const nowMs = monotonicMs()
    this.#records ??= new WorkRate(nowMs, read)
    this.#bytes ??= new WorkRate(nowMs, position.offset)
    if (nowMs - this.#shownMs < (this.#line.isTerminal ? TERMINAL_MS : LINES_MS)) return
    this.#shownMs = nowMs
    const rate = this.#records.text({ done: read, total: null }, nowMs)
    const left = /, ([^,]* left)$/.exec(
      this.#bytes.text({ done: position.offset, total: size }, nowMs),
    )
    const until = left === null ? '' : `, ${left[1]}`
    const text = `${name}: ${read} records${rate}${until}, ${rejected} rejected`
    this.#line.show(text, size === 0 ? 1 : position.offset / size)
  }

  end(): void {
    this.#line.clear()
  }
}

/** A file as the API shows it. */
function fileJson({ _id, owner: _, chunk: __, position, totals, ...file }: IntakeFileDocument) {
  return { file: _id, ...file, offset: position.offset, totals }
}

function reportOf(file: IntakeFileDocument, money: MoneyFormat): string[] {
  const { name, state, error, read, charged, duplicates, filtered, rejected } = file
  const others = [
    [duplicates, 'charged before'],
    [filtered, 'not to be charged'],
    [rejected, 'rejected'],
  ] as const
  const more = others.flatMap(([count, what]) => (count === 0 ? [] : [`${count} ${what}`]))
  return [
    `${name}: ${[`${read} records`, `${charged} charged`, ...more].join(', ')}`,
    ...file.totals.map(
      ({ usaget, records, units, price_micros }) =>
        `  ${usaget}: ${records} records, ${units} units, ${money(decimalText(price_micros))}`,
    ),
    ...(state === 'failed' ? [`${name} has failed: ${error}`] : []),
    ...(rejected > 0 ? [`see 'tollgate rejected list --file ${file._id}'`] : []),
  ]
}
