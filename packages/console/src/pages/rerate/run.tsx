/** The last run with its accounts; while it is not done it is read once a second. */
import { useEffect, useRef } from 'preact/hooks'
import { useRead } from '../../api/read.ts'
import { location } from '../../frame/routes.ts'
import { textColumn } from '../../parts/columns.tsx'
import { Facts } from '../../parts/facts.tsx'
import { FilterForm } from '../../parts/filter.tsx'
import { List } from '../../parts/list.tsx'
import { announce } from '../../parts/live-region.tsx'
import { usePolling } from '../../parts/progress.tsx'
import { type Column, pageKey, usePageKeys } from '../../parts/table.tsx'
import { Time } from '../../parts/time.tsx'
import { t } from '../../words/words.ts'
import { accountColumns, changeColumns, countFacts, whyColumn } from './accounts.tsx'
import {
  ACCOUNT_STATES,
  outcomeOf,
  type RerateJob,
  type RunAccount,
  type RunOutcome,
  readRun,
} from './data.ts'

export function LastRun() {
  const { state = '' } = location.value.query
  const isRepeated = useRef(false)
  const after = pageKey()
  const reading = useRead(`rerates ${state} ${after}`, (signal) => {
    return readRun(state, after, { signal, isSilent: isRepeated.current })
  })
  const { data } = reading.state.value
  // It stays while other accounts of it are read.
  const last = useRef<RerateJob | null>(null)
  if (data !== null) last.current = data.job
  const job = last.current
  const outcome = job === null ? null : outcomeOf(job)
  const isMoving = job !== null && job.state !== 'done'
  isRepeated.current = isMoving
  usePolling(reading, isMoving)
  usePageKeys()
  const before = useRef(outcome)
  useEffect(() => {
    if (before.current !== null && outcome !== null && outcome !== before.current) {
      announce(t(`rerate.is.${outcome}`))
    }
    before.current = outcome
  }, [outcome])
  const nothing = state === '' ? 'rerate.noAccounts' : 'rerate.noneInState'
  return (
    <div class="stack">
      {job !== null && <Job job={job} />}
      <FilterForm
        label={t('rerate.filter')}
        fields={[
          {
            name: 'state',
            label: t('rerate.state'),
            choices: ACCOUNT_STATES.map((value) => ({ value, label: t(`rerate.state.${value}`) })),
          },
        ]}
      />
      <List
        reading={reading}
        height={12}
        empty={t(job === null ? 'rerate.none' : nothing)}
        caption={t('rerate.list')}
        columns={columns()}
        keyOf={({ aid, cycle }) => `${aid} ${cycle}`}
      />
    </div>
  )
}

const columns = (): Column<RunAccount>[] => [
  ...accountColumns<RunAccount>(),
  textColumn('rerate.state', ({ state }) => t(`rerate.state.${state}`)),
  ...changeColumns<RunAccount>(),
  whyColumn(),
]

const MARKS: Readonly<Partial<Record<RunOutcome, readonly [kind: string, sign: string]>>> = {
  waiting: ['warn', '▲'],
  failed: ['bad', '✕'],
  refused: ['bad', '✕'],
  done: ['good', '✓'],
}

function Job({ job }: { readonly job: RerateJob }) {
  const outcome = outcomeOf(job)
  const [kind = '', sign = ''] = MARKS[outcome] ?? []
  return (
    <>
      <p class={`mark ${kind}`}>
        {sign} {t(`rerate.is.${outcome}`)}
      </p>
      <Facts
        facts={[
          { title: t('rerate.error'), value: job.error },
          ...countFacts(job.counts),
          { title: t('rerate.created'), value: <Time value={job.created} precision="second" /> },
          {
            title: t('rerate.ended'),
            value: job.ended === null ? '' : <Time value={job.ended} precision="second" />,
          },
          { title: t('rerate.job'), value: <span class="id">{job.id}</span> },
        ]}
      />
    </>
  )
}
