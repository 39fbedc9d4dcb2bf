/** `tollgate audit --records`: verifies the hash chain of audit records. */
import { type ChainReport, verifyChain } from '../../catalog/audit/verify.ts'
import type { ChainEnd } from '../../catalog/records/audit-document.ts'
import { repeatingReads } from '../../catalog/repeating-reads.ts'
import { UsageError } from '../errors.ts'
import { type OptionValues, optionalText } from '../options.ts'
import type { Shell } from '../shell.ts'
import { patienceIn, withCatalog } from '../stores.ts'

/** Returns 0 if the chain is intact, otherwise 1. Throws `CommandError` or `UsageError`. */
export async function auditRecords(shell: Shell, options: OptionValues): Promise<0 | 1> {
  const other = ['explain', 'mend', 'dry-run'].find((name) => options[name] === true)
  if (other !== undefined) throw new UsageError(`--records cannot be combined with --${other}`)
  const expected = endOf(optionalText(options, 'expect'))
  const config = shell.config()
  const { key } = config.secrets
  const patience = patienceIn(shell, config)
  const report = await withCatalog(
    config,
    (catalog) => verifyChain(repeatingReads(catalog), { key, ...(expected && { expected }) }),
    patience,
  )
  if (options['json'] === true) shell.print(JSON.stringify(report))
  else for (const line of recordsLines(report)) shell.print(line)
  return report.ok ? 0 : 1
}

function endOf(text: string | undefined): ChainEnd | undefined {
  if (text === undefined) return undefined
  const [, seq = '', hash = ''] = /^([1-9]\d{0,14}):([0-9a-f]{64})$/.exec(text) ?? []
  if (hash === '') {
    throw new UsageError('--expect must be SEQ:HASH, as printed by this command')
  }
  return { seq: Number(seq), hash }
}

function recordsLines(report: ChainReport): string[] {
  const { records, removed, erased, end, problems, problemsLeftOut: left } = report
  return [
    `audit records ${records}, removed by retention ${removed}, with erased fields ${erased}`,
    ...(end.seq === 0 ? [] : [`the chain ends with ${end.seq}:${end.hash}`]),
    ...problems,
    ...(left > 0 ? [`and ${left} more`] : []),
    report.ok ? 'the chain of audit records holds' : 'the chain of audit records is broken',
  ]
}
