/** A file of lines on this machine, and its control totals. */
import { createHash } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { Exact, exactAmount } from '../catalog/records/money/exact-amount.ts'
import type { Config } from '../config/schema.ts'
import { csvText } from '../entities/export/csv-text.ts'
import type { ExportedLine } from './cut.ts'
import { cellsOf, jsonOf } from './line-fields.ts'

export type LineFileFormat = Pick<Config['export'], 'format' | 'gzip' | 'fields'>

/** Fields that the totals need. */
export const TOTAL_FIELDS = ['stamp', 'exact', 'aprice', 'final_charge'] as const

export interface LineFileTotals {
  readonly lines: number
  /** Exact decimals. */
  readonly charges: { readonly aprice: string; readonly final_charge: string }
  readonly first: string
  readonly last: string
  readonly bytes: number
  readonly sha256: string
}

const CRLF = '\r\n'

/** `lines-000000007.csv.gz` */
export function fileNameOf(seq: number, { format, gzip }: LineFileFormat): string {
  return `lines-${String(seq).padStart(9, '0')}.${format}${gzip ? '.gz' : ''}`
}

/** Writes the lines to a new file, until it is stopped: then it rejects. */
export async function writeLineFile(
  path: string,
  pages: AsyncIterable<readonly ExportedLine[]>,
  format: LineFileFormat,
  signal: AbortSignal,
): Promise<LineFileTotals> {
  const sums = new Sums()
  const hash = createHash('sha256')
  let bytes = 0
  const measure = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      hash.update(chunk)
      bytes += chunk.length
      done(null, chunk)
    },
  })
  const texts = Readable.from(textsOf(pages, format, sums))
  const file = createWriteStream(path, { flags: 'wx', mode: 0o600 })
  if (format.gzip) await pipeline(texts, createGzip(), measure, file, { signal })
  else await pipeline(texts, measure, file, { signal })
  return { ...sums.totals(), bytes, sha256: hash.digest('hex') }
}

async function* textsOf(
  pages: AsyncIterable<readonly ExportedLine[]>,
  { format, fields }: LineFileFormat,
  sums: Sums,
): AsyncGenerator<string> {
  const isCsv = format === 'csv'
  if (isCsv) yield csvText([[...fields]], ',', CRLF)
  for await (const lines of pages) {
    if (lines.length === 0) continue
    for (const line of lines) sums.add(line)
    yield isCsv
      ? csvText(
          lines.map((line) => cellsOf(line, fields)),
          ',',
          CRLF,
        )
      : lines.map((line) => `${jsonOf(line, fields)}\n`).join('')
  }
}

class Sums {
  #lines = 0
  #aprice = new Exact(0)
  #finalCharge = new Exact(0)
  #first = ''
  #last = ''

  add(line: ExportedLine): void {
    this.#lines += 1
    this.#aprice = this.#aprice.plus(amountIn(line, 'aprice'))
    this.#finalCharge = this.#finalCharge.plus(amountIn(line, 'final_charge'))
    if (this.#first === '') this.#first = line.stamp
    this.#last = line.stamp
  }

  totals(): Omit<LineFileTotals, 'bytes' | 'sha256'> {
    const charges = { aprice: this.#aprice.toFixed(), final_charge: this.#finalCharge.toFixed() }
    return { lines: this.#lines, charges, first: this.#first, last: this.#last }
  }
}

/** Lines of usage have the exact text; others have the number. */
function amountIn(line: ExportedLine, name: 'aprice' | 'final_charge'): Exact {
  const exact = (line['exact'] as Readonly<Record<string, string>> | undefined)?.[name]
  return exact === undefined ? exactAmount(line[name]) : new Exact(exact)
}
