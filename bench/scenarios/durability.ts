/** Redis' append-only file synced every second and always, compared with the speed of the disk. */
import {
  closeSync,
  fsyncSync,
  mkdtempSync,
  openSync,
  realpathSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { round } from '../measure/load.ts'
import { loadTable, measureClosed, otherAnswers, withGenerator } from '../measure/turns.ts'
import type { Bench, Scenario } from '../scenario.ts'
import { PAUSED } from './json.ts'

const PAGE = Buffer.alloc(4096, 1)
const DISK_MS = 2_000

export const durabilityScenario: Scenario = {
  name: 'durability',
  what: 'append-only file everysec and always, beside the rate at which the disk syncs',
  async run(bench) {
    const everysec = await closed(bench, 'everysec')
    const always = await closed(bench, 'always')
    const syncs = syncsPerSecond()
    const ratio = always.perSecond / everysec.perSecond
    return {
      figures: {
        everysec_per_second: Math.round(everysec.perSecond),
        always_per_second: Math.round(always.perSecond),
        fsync_per_second: Math.round(syncs),
      },
      ratios: { always_to_everysec: ratio },
      goals: [{ what: 'always / everysec', is: round(ratio, 2), wanted: { atLeast: 0.5 } }],
      tables: [
        loadTable('Durability', [
          ['appendfsync everysec', everysec],
          ['appendfsync always', always],
        ]),
      ],
      notes: [
        `the disk syncs ${Math.round(syncs)} appended pages of 4 KiB a second, one after the other`,
        ...otherAnswers(everysec, always),
      ],
    }
  },
}

async function closed(bench: Bench, appendfsync: 'everysec' | 'always') {
  const kind = appendfsync === 'everysec' ? PAUSED : { ...PAUSED, appendfsync }
  const product = await bench.product(kind)
  return withGenerator((generator) => measureClosed(bench, product, generator, 'json'))
}

/** Appends a page and syncs it to disk, repeatedly. */
function syncsPerSecond(): number {
  const folder = mkdtempSync(join(realpathSync(tmpdir()), 'tg-fsync-'))
  const file = openSync(join(folder, 'file'), 'w')
  try {
    const startedMs = performance.now()
    let count = 0
    while (performance.now() < startedMs + DISK_MS) {
      writeSync(file, PAGE)
      fsyncSync(file)
      count += 1
    }
    return count / ((performance.now() - startedMs) / 1000)
  } finally {
    closeSync(file)
    rmSync(folder, { recursive: true })
  }
}
