/** The price simulator below an editor, loaded when it is opened. It has a form of its own. */
import type { ComponentType } from 'preact'
import { useState } from 'preact/hooks'
import type { Document } from '../../parts/document/values.ts'
import type { SimulatorProps } from '../../parts/simulator/simulator.tsx'
import { t } from '../../words/words.ts'

/** Collections that have prices of usage. */
const PRICING = ['rates', 'plans', 'services', 'prepaidincludes', 'taxes'] as const

interface SimulateProps {
  /** Name of any collection. */
  readonly collection: string
  readonly base: Document
  readonly draft: Document
}

export function Simulate({ collection: name, base, draft }: SimulateProps) {
  const [Simulator, setSimulator] = useState<ComponentType<SimulatorProps> | null>(null)
  const [hasFailed, setFailed] = useState(false)
  const collection = PRICING.find((each) => each === name)
  if (collection === undefined) return null
  const load = () => {
    import('../../parts/simulator/simulator.tsx').then(
      ({ Simulator: loaded }) => setSimulator(() => loaded),
      // After an upgrade the chunks of an open page no longer exist.
      () => setFailed(true),
    )
  }
  if (Simulator !== null) {
    return (
      <section class="simulate" aria-labelledby="simulate-title">
        <h3 id="simulate-title">{t('catalogue.simulate')}</h3>
        <Simulator collection={collection} base={base} draft={draft} />
      </section>
    )
  }
  return (
    <div class="buttons simulate">
      <button type="button" onClick={load}>
        {t('catalogue.simulateOpen')}
      </button>
      {hasFailed && <span class="muted">{t('frame.reload')}</span>}
    </div>
  )
}
