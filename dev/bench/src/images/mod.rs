//! What a call takes through the image service, beside the same call to containerd itself: one run, one machine, the two in
//! random order.

mod caller;
mod report;
mod world;

use std::path::Path;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use caller::Caller;
pub use report::{Measurements, Way};
use report::{Memory, Method};
use world::World;

/// How many images containerd has.
const IMAGES: usize = 1000;
/// How many calls are made at once, each way.
const AT_ONCE: usize = 1000;

/// Measures `service`, the program as it is shipped; each way `rounds` times.
///
/// # Errors
/// If containerd or the service cannot be started, or a call fails.
pub fn run(service: &Path, rounds: usize) -> Result<Measurements> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(measure(service, rounds))
}

async fn measure(service: &Path, rounds: usize) -> Result<Measurements> {
    let world = World::start(service)?;
    let at_rest = world.memory()?;
    let direct = Caller::connect(&world.containerd_socket()).await?;
    let through = Caller::connect(&world.service_socket()).await?;
    eprintln!("  pulling {IMAGES} images");
    world.pull_all(&direct, IMAGES).await?;

    let present = world.image(0);
    let mut methods = Vec::new();
    for (name, request, rounds) in [
        ("ImageStatus", caller::image(&present), rounds),
        ("ListImages", Vec::new(), rounds.div_ceil(4)),
        ("PullImage", caller::pull(&present), rounds.div_ceil(4)),
    ] {
        eprintln!("  {rounds} calls of {name} each way");
        methods.push(Method::new(name, &alternate(&direct, &through, name, &request, rounds).await?));
    }
    eprintln!("  {AT_ONCE} calls at once each way");
    let request = caller::image(&present);
    let mut at_once = Vec::new();
    for (way, caller) in [(Way::Direct, &direct), (Way::Through, &through)] {
        at_once.push((way, burst(caller, &request).await?));
    }
    let binary_bytes = std::fs::metadata(service).context("the size of the service")?.len();
    let memory = Memory { at_rest, after: world.memory()?, peak: world.peak_memory()? };
    Ok(Measurements { methods, images: IMAGES, at_once, memory, binary_bytes })
}

/// The same call both ways, in random order, so that what else the machine does hits both alike.
async fn alternate(
    direct: &Caller,
    through: &Caller,
    method: &str,
    request: &[u8],
    rounds: usize,
) -> Result<Vec<(Way, f64)>> {
    let mut order: Vec<Way> = [Way::Direct, Way::Through].repeat(rounds);
    fastrand::shuffle(&mut order);
    // A few each, not counted: caches and connections.
    let warm = [Way::Direct, Way::Through].repeat(5);
    let mut taken = Vec::with_capacity(order.len());
    for (at, &way) in warm.iter().chain(&order).enumerate() {
        let caller = if way == Way::Direct { direct } else { through };
        let begun = Instant::now();
        caller.call(method, request).await?;
        if at >= warm.len() {
            taken.push((way, begun.elapsed().as_secs_f64() * 1e6));
        }
    }
    Ok(taken)
}

/// All at once; the time until the last one is answered, in milliseconds.
async fn burst(caller: &Caller, request: &[u8]) -> Result<f64> {
    let begun = Instant::now();
    let calls: Vec<_> = (0..AT_ONCE)
        .map(|_| {
            let (caller, request) = (caller.clone(), request.to_vec());
            tokio::spawn(async move { caller.call("ImageStatus", &request).await })
        })
        .collect();
    for call in calls {
        ensure!(!call.await??.is_empty(), "an answer without a message");
    }
    Ok(begun.elapsed().as_secs_f64() * 1e3)
}
