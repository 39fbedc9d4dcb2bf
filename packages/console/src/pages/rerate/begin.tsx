/** Asks for the number of lines before a run begins: it moves the money of many. */
import { Confirm } from '../../parts/confirm.tsx'
import { Facts } from '../../parts/facts.tsx'
import { formatNumber } from '../../parts/numbers.ts'
import { t } from '../../words/words.ts'
import { beginRerate, FIELDS, type Previewed } from './data.ts'
import { sumFacts, Verdict } from './preview-result.tsx'

interface BeginProps {
  readonly previewed: Previewed
  readonly onBegun: () => void
  readonly onClose: () => void
}

export function BeginDialog({ previewed, onBegun, onClose }: BeginProps) {
  const { selection, preview } = previewed
  const { totals } = preview
  const count = formatNumber(totals.changed)
  return (
    <Confirm
      title={t('rerate.beginTitle', { count })}
      about={t('rerate.beginAbout')}
      act={t('rerate.beginDo', { count })}
      action="api/rerate"
      typed={String(totals.changed)}
      onAct={async (_, key) => {
        await beginRerate(selection, key)
        onBegun()
      }}
      onClose={onClose}
    >
      <Facts
        facts={[
          ...FIELDS.map((name) => ({ title: t(`rerate.${name}`), value: selection[name] })),
          { title: t('rerate.changed'), value: count },
          ...sumFacts(totals),
        ]}
      />
      <Verdict totals={totals} />
    </Confirm>
  )
}
