/** Titles with their values, in two columns. */
import type { ComponentChildren } from 'preact'

export interface Fact {
  readonly title: string
  readonly value: ComponentChildren
  readonly isNumber?: boolean
}

/** Leaves out empty facts. */
export function Facts({ facts }: { readonly facts: readonly Fact[] }) {
  return (
    <dl class="facts">
      {facts.map(({ title, value, isNumber }) => {
        if (value === '' || value === undefined || value === null) return null
        return (
          <>
            <dt key={title}>{title}</dt>
            <dd class={isNumber ? 'number' : undefined} dir="auto">
              {value}
            </dd>
          </>
        )
      })}
    </dl>
  )
}
