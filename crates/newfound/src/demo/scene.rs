//! The two domains: the same things, photographed in two places.
//!
//! A [`Place`] says between which limits everything lies that is not the object's shape: paint, backdrop,
//! clutter, light and lens. The studio is the source domain. The workshop is as far from it as we go, and
//! the target domain lies between the two, at [`SHIFT`]: the one dial of the demo's difficulty, the same
//! for every class.

use super::SIZE;
use super::backdrop::Backdrop;
use super::camera::Camera;
use super::canvas::Canvas;
use super::outline::{Outline, Point};
use super::palette::{Palette, paint};
use super::parts::{Light, Part};
use super::pose::Pose;
use crate::random::Stream;
use image::RgbImage;

/// How far from the studio (0) towards the workshop (1) the target domain lies.
const SHIFT: f64 = 0.5;

/// Where an image was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Domain {
    /// Clean product shots.
    Source,
    /// The new place: dim, tinted light, patterned surfaces, clutter, blur and noise.
    Target,
}

/// The limits between which a number is drawn uniformly.
#[derive(Debug, Clone, Copy)]
pub struct Limits(f64, f64);

impl Limits {
    /// A number between the limits.
    pub fn draw(self, stream: &mut Stream) -> f64 {
        stream.between(self.0, self.1)
    }

    /// The limits a share `t` of the way towards the other ones.
    fn towards(self, other: Self, t: f64) -> Self {
        Self(
            self.0 + (other.0 - self.0) * t,
            self.1 + (other.1 - self.1) * t,
        )
    }
}

/// Everything about a photograph that does not depend on what is in it.
#[derive(Debug, Clone)]
pub struct Place {
    /// Saturation of the objects' paint.
    pub paint_saturation: Limits,
    /// Value (as in hue, saturation, value) of the objects' paint.
    pub paint_value: Limits,
    /// Saturation of the backdrop.
    pub backdrop_saturation: Limits,
    /// Value of the backdrop.
    pub backdrop_value: Limits,
    /// Height of the backdrop's pattern.
    pub texture: Limits,
    /// Change of the backdrop's brightness from the middle to the edge.
    pub gradient: Limits,
    /// Number of other things at the edges of the image, rounded down.
    pub clutter: Limits,
    /// Darkness of the object's shadow.
    pub shadow: Limits,
    /// Share of the light that comes from everywhere.
    pub ambient: Limits,
    /// Strength of highlights.
    pub gloss: Limits,
    /// What all brightness is multiplied by.
    pub exposure: Limits,
    /// How warm or how cold the light is.
    pub cast: Limits,
    /// How much darker the corners are.
    pub vignette: Limits,
    /// Share of the contrast that is left.
    pub contrast: Limits,
    /// Standard deviation of the blur, in pixels.
    pub blur: Limits,
    /// Standard deviation of the sensor's noise.
    pub noise: Limits,
}

/// The source domain.
const STUDIO: Place = Place {
    paint_saturation: Limits(0.55, 1.0),
    paint_value: Limits(0.35, 0.95),
    backdrop_saturation: Limits(0.0, 0.3),
    backdrop_value: Limits(0.6, 1.0),
    texture: Limits(0.0, 0.04),
    gradient: Limits(0.0, 0.12),
    clutter: Limits(0.0, 2.0),
    shadow: Limits(0.1, 0.3),
    ambient: Limits(0.5, 0.75),
    gloss: Limits(0.05, 0.25),
    exposure: Limits(0.85, 1.05),
    cast: Limits(-0.05, 0.05),
    vignette: Limits(0.0, 0.15),
    contrast: Limits(0.97, 1.0),
    blur: Limits(0.0, 0.4),
    noise: Limits(0.005, 0.02),
};

/// The far end of the shift.
const WORKSHOP: Place = Place {
    paint_saturation: Limits(0.25, 0.6),
    paint_value: Limits(0.3, 0.85),
    backdrop_saturation: Limits(0.15, 0.4),
    backdrop_value: Limits(0.6, 0.9),
    texture: Limits(0.12, 0.25),
    gradient: Limits(0.05, 0.2),
    clutter: Limits(1.0, 4.0),
    shadow: Limits(0.2, 0.6),
    ambient: Limits(0.25, 0.45),
    gloss: Limits(0.0, 0.3),
    exposure: Limits(0.68, 0.78),
    cast: Limits(0.18, 0.28),
    vignette: Limits(0.3, 0.5),
    contrast: Limits(0.6, 0.7),
    blur: Limits(0.6, 0.9),
    noise: Limits(0.03, 0.05),
};

impl Place {
    /// The place where the images of a domain are taken.
    pub fn of(domain: Domain) -> Self {
        match domain {
            Domain::Source => STUDIO,
            Domain::Target => STUDIO.towards(&WORKSHOP, SHIFT),
        }
    }

    fn towards(&self, other: &Self, t: f64) -> Self {
        Self {
            paint_saturation: self.paint_saturation.towards(other.paint_saturation, t),
            paint_value: self.paint_value.towards(other.paint_value, t),
            backdrop_saturation: self
                .backdrop_saturation
                .towards(other.backdrop_saturation, t),
            backdrop_value: self.backdrop_value.towards(other.backdrop_value, t),
            texture: self.texture.towards(other.texture, t),
            gradient: self.gradient.towards(other.gradient, t),
            clutter: self.clutter.towards(other.clutter, t),
            shadow: self.shadow.towards(other.shadow, t),
            ambient: self.ambient.towards(other.ambient, t),
            gloss: self.gloss.towards(other.gloss, t),
            exposure: self.exposure.towards(other.exposure, t),
            cast: self.cast.towards(other.cast, t),
            vignette: self.vignette.towards(other.vignette, t),
            contrast: self.contrast.towards(other.contrast, t),
            blur: self.blur.towards(other.blur, t),
            noise: self.noise.towards(other.noise, t),
        }
    }
}

/// One photograph of one thing, which `draw` makes.
///
/// The proportions of the thing come from a stream of their own. What it draws can then not disturb
/// anything else: with the same `stream`, two things differ in the object and its shadow alone.
pub fn render(
    draw: impl Fn(&mut Stream) -> Vec<Part>,
    domain: Domain,
    stream: &mut Stream,
) -> RgbImage {
    let place = Place::of(domain);
    let backdrop = Backdrop::draw(&place, stream);
    let mut canvas = Canvas::new(SIZE as usize, |point| backdrop.at(point));
    for _ in 0..place.clutter.draw(stream) as usize {
        clutter(&mut canvas, &place, stream);
    }
    let palette = Palette::draw(&place, backdrop.colour(), stream);
    let pose = Pose::draw(stream);
    let light = lamp(&place, stream);
    let shadow = place.shadow.draw(stream);
    let parts = draw(&mut Stream::new(stream.bits(), "object", &[]));
    cast_shadow(&mut canvas, &parts, &pose, &light, shadow);
    for part in &parts {
        paint_part(&mut canvas, part, &palette, &pose, &light);
    }
    let camera = Camera::draw(&place, stream);
    camera.photograph(&canvas.pixels(), SIZE as usize, stream)
}

/// A lamp somewhere above the object, to the left or to the right.
fn lamp(place: &Place, stream: &mut Stream) -> Light {
    let (y, x) = stream.between(-160.0, -20.0).to_radians().sin_cos();
    let height = stream.between(35.0, 65.0).to_radians();
    Light {
        direction: [x * height.cos(), y * height.cos(), height.sin()],
        ambient: place.ambient.draw(stream),
        gloss: place.gloss.draw(stream),
    }
}

/// Something that is none of the ten classes, cut off by the edge of the image.
fn clutter(canvas: &mut Canvas, place: &Place, stream: &mut Stream) {
    let colour = paint(place, stream);
    let (sin, cos) = stream.between(0.0, std::f64::consts::TAU).sin_cos();
    let away = stream.between(0.95, 1.1) / sin.abs().max(cos.abs());
    let centre = (away * cos, away * sin);
    let size = stream.between(0.12, 0.3);
    let outline = match stream.below(3) {
        0 => Outline::disc(centre, size),
        1 => Outline::block(
            (centre.0 - size, centre.1 - size),
            (centre.0 + size, centre.1 + stream.between(0.3, 1.0) * size),
        ),
        _ => {
            let (dy, dx) = stream.between(0.0, std::f64::consts::TAU).sin_cos();
            let end = (centre.0 + 2.0 * size * dx, centre.1 + 2.0 * size * dy);
            Outline::stroke(&[centre, end], 0.3 * size)
        }
    };
    canvas.fill(&outline.moved(|point| point), |_, _| colour);
}

/// The shadow on the backdrop: a lamp is not a point, so several faint copies, further and further from
/// the object, make one shadow with a soft edge.
fn cast_shadow(canvas: &mut Canvas, parts: &[Part], pose: &Pose, light: &Light, darkness: f64) {
    const COPIES: i32 = 5;
    // What is left of the light below all copies is 1 − darkness.
    let left = (1.0 - darkness).powf(1.0 / f64::from(COPIES)) as f32;
    for copy in 1..=COPIES {
        let distance = 0.03 * f64::from(copy);
        let below = |point: Point| {
            let (x, y) = pose.place(point);
            (
                x - distance * light.direction[0],
                y - distance * light.direction[1],
            )
        };
        let silhouette: Vec<_> = parts
            .iter()
            .flat_map(|part| part.outline.moved(below))
            .collect();
        canvas.fill(&silhouette, |_, colour| {
            colour.map(|channel| channel * left)
        });
    }
}

/// Paints one part of the object.
fn paint_part(canvas: &mut Canvas, part: &Part, palette: &Palette, pose: &Pose, light: &Light) {
    let colour = palette.of(part.tone);
    let bounds = part.outline.bounds();
    let light = Light {
        direction: pose.direction(light.direction),
        ..*light
    };
    canvas.fill(
        &part.outline.moved(|point| pose.place(point)),
        |place, _| light.on(colour, part.normal(bounds, pose.origin(place))),
    );
}

#[cfg(test)]
mod tests {
    use super::super::objects::Class;
    use super::*;

    fn image(class: Class, domain: Domain, index: u64) -> RgbImage {
        render(
            |stream| class.draw(stream),
            domain,
            &mut Stream::new(0, "test", &[index]),
        )
    }

    /// Mean brightness and mean difference of the largest and the smallest channel.
    fn look(domain: Domain) -> (f64, f64) {
        let images = (0..20).flat_map(|i| Class::KNOWN.map(|class| image(class, domain, i)));
        let (mut bright, mut colourful, mut count) = (0.0, 0.0, 0.0);
        for pixel in images.flat_map(|image| image.pixels().copied().collect::<Vec<_>>()) {
            let [red, green, blue] = pixel.0.map(f64::from);
            bright += (red + green + blue) / 3.0;
            colourful += red.max(green).max(blue) - red.min(green).min(blue);
            count += 1.0;
        }
        (bright / count, colourful / count)
    }

    #[test]
    fn a_render_is_a_function_of_its_stream() {
        for domain in [Domain::Source, Domain::Target] {
            assert_eq!(image(Class::Mug, domain, 0), image(Class::Mug, domain, 0));
            assert_ne!(image(Class::Mug, domain, 0), image(Class::Mug, domain, 1));
        }
    }

    #[test]
    fn the_target_is_another_place() {
        let (source, target) = (look(Domain::Source), look(Domain::Target));
        assert!(
            target.0 < 0.85 * source.0,
            "brightness {} {}",
            source.0,
            target.0
        );
    }

    #[test]
    fn only_the_object_and_its_shadow_depend_on_the_class() {
        for domain in [Domain::Source, Domain::Target] {
            for index in 0..20 {
                let corners = |class| {
                    let image = image(class, domain, index);
                    [(0, 0), (SIZE - 1, 0)].map(|(x, y)| *image.get_pixel(x, y))
                };
                let first = corners(Class::Fish);
                assert_eq!(corners(Class::Car), first, "{domain:?} {index}");
                assert_eq!(corners(Class::Mug), first, "{domain:?} {index}");
            }
        }
    }
}
