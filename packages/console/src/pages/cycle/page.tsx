/** Billing cycles: their list, the run of one, its preview and its confirmation. */
import './cycle.css'
import '../../parts/split.css'
import { useRead } from '../../api/read.ts'
import { linkHere, location, navigateHere } from '../../frame/routes.ts'
import { textColumn } from '../../parts/columns.tsx'
import { FilterForm } from '../../parts/filter.tsx'
import { List } from '../../parts/list.tsx'
import type { Column } from '../../parts/table.tsx'
import { CYCLE } from '../../words/en/cycle.ts'
import { addWords, t } from '../../words/words.ts'
import { Cycle } from './cycle.tsx'
import { type CycleRow, cycleRefIn, readCycles, stateText } from './data.ts'

addWords(CYCLE)

export default function Page() {
  const { query } = location.value
  const reading = useRead('cycles', readCycles)
  const key = query['key'] ?? ''
  return (
    <>
      <h1 tabIndex={-1}>{t('page.cycle')}</h1>
      {query['day'] !== undefined && (
        <FilterForm
          label={t('cycle.day')}
          fields={[{ name: 'day', label: t('cycle.day'), input: { inputMode: 'numeric' } }]}
        />
      )}
      <div class="split with-detail">
        <section aria-labelledby="cycles">
          <h2 id="cycles">{t('cycle.list')}</h2>
          <List
            reading={reading}
            height={12}
            caption={t('cycle.list')}
            columns={columns()}
            keyOf={({ billrun_key: each }) => each ?? ''}
            isCurrent={({ billrun_key: each }) => each === key}
            onOpen={({ billrun_key: each = '' }) => navigateHere({ key: each })}
          />
        </section>
        {key === '' ? (
          <p class="state">{t('cycle.choose')}</p>
        ) : (
          <Cycle
            key={JSON.stringify(cycleRefIn(query))}
            named={cycleRefIn(query)}
            onChanged={reading.reload}
          />
        )}
      </div>
    </>
  )
}

const columns = (): Column<CycleRow>[] => [
  textColumn('cycle.key', ({ billrun_key: key = '' }) => <a href={linkHere({ key })}>{key}</a>),
  textColumn('cycle.end', ({ end_date: end = '' }) => end.slice(0, 10)),
  textColumn('cycle.state', ({ cycle_status: status = '' }) => stateText(status)),
]
