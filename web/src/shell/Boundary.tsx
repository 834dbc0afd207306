import { Component, type ReactNode } from 'react'
import { ProblemNote } from '../shared/ui/states'

/** A screen that fails says so and leaves the rest standing. */
export class Boundary extends Component<{ children: ReactNode }, { error: unknown }> {
  override state = { error: null as unknown }

  static getDerivedStateFromError(error: unknown) {
    return { error }
  }

  override render() {
    if (this.state.error !== null)
      return (
        <div className="page">
          <ProblemNote error={this.state.error} onRetry={() => location.reload()} />
        </div>
      )
    return this.props.children
  }
}
